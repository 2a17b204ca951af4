package simulate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/coupon"
)

// description is the part of a case that is for people: what its first
// interleaving answers and sends.
type description struct {
	ID    string `json:"id"`
	Right struct {
		Results   json.RawMessage `json:"results"`
		EventsOut []struct {
			Type string `json:"type"`
		} `json:"events_out"`
		Review []string `json:"review"`
	} `json:"right"`
}

// whatIsTold is a description without its form.
type whatIsTold struct{ Results, Events, Reviews []string }

func (d description) told(t *testing.T) whatIsTold {
	t.Helper()
	var told whatIsTold
	if err := json.Unmarshal(d.Right.Results, &told.Results); err != nil {
		var first struct {
			Results []string `json:"first_interleaving"`
		}
		if err := json.Unmarshal(d.Right.Results, &first); err != nil {
			t.Fatalf("%s: %v", d.ID, err)
		}
		told.Results = first.Results
	}
	for _, event := range d.Right.EventsOut {
		told.Events = append(told.Events, event.Type)
	}
	told.Reviews = d.Right.Review
	return told
}

// TestFirstInterleavingsAreAsDescribed: not only what the cases assert holds; the
// answers, the events and the reviews are those they describe. The exceptions are a
// second payment of the whole price, which they let pass and we do not, and that they do
// not tell of refused claims and of campaigns that are sold out.
func TestFirstInterleavingsAreAsDescribed(t *testing.T) {
	text, err := os.ReadFile("testdata/domain.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxCaseLine)
	for lines.Scan() {
		var d description
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		r := newRun(&c, onMemory, c.ID+".")
		if err := errors.Join(r.play(t.Context(), Interleavings(c.Sequence)[0]), r.close(t.Context())); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		got := whatIsTold{Results: r.results}
		for i := range r.events {
			if kind := r.events[i].Kind; kind != coupon.EventClaimRejected && kind != coupon.EventSoldOut {
				got.Events = append(got.Events, string(kind))
			}
		}
		for i := range r.reviews {
			got.Reviews = append(got.Reviews, string(r.reviews[i].Reason))
		}
		want := d.told(t)
		if c.ID == "DC-039" {
			want.Reviews = []string{"DOUBLE_PAYMENT"}
			want.Events = append(want.Events[:2:2], append([]string{"ReviewOpened"}, want.Events[2:]...)...)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-described +got):\n%s", c.ID, diff)
		}
		compared++
	}
	if compared != 82 {
		t.Errorf("%d cases compared, want 82", compared)
	}
}
