package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	errTestNack   = errors.New("nacked")
	errTestReturn = fmt.Errorf("%w: 312 NO_ROUTE", ErrReturned)
)

func testPage(sizes ...int) (page []entry) {
	for i, size := range sizes {
		row := entry{Row: Row{ID: int64(10 + i)}}
		for m := range size {
			row.messages = append(row.messages, Message{ID: fmt.Sprintf("%d.%d", row.ID, m)})
		}
		page = append(page, row)
	}
	return page
}

func TestJudge(t *testing.T) {
	ok, nack, ret := error(nil), errTestNack, errTestReturn
	for _, test := range []struct {
		name     string
		errs     []error // of rows 10 with two messages, 11 with none, 12 with three, 13 with one
		hopeless bool
		done     []int64
		parked   []int64
		failed   int64
		returned bool
		cause    error
	}{
		{"all taken", []error{ok, ok, ok, ok, ok, ok}, true, []int64{10, 11, 12, 13}, nil, 0, false, nil},
		{"first nacked", []error{ok, nack, ok, ok, ok, ok}, true, nil, nil, 10, false, nack},
		{"middle nacked", []error{ok, ok, ok, nack, ok, ok}, true, []int64{10, 11}, nil, 12, false, nack},
		{"middle returned", []error{ok, ok, ret, ok, ret, ok}, false, []int64{10, 11}, nil, 12, true, ret},
		{"middle returned, hopeless", []error{ok, ok, ret, ok, ret, ok}, true, []int64{10, 11, 13}, []int64{12}, 0, false, nil},
		{"returned before nacked", []error{ok, ok, ret, nack, ok, ok}, true, []int64{10, 11}, nil, 12, false, nack},
		{"nacked before returned", []error{ok, ok, nack, ret, ok, ok}, true, []int64{10, 11}, nil, 12, false, nack},
		{"parked, then nacked", []error{ret, ret, ok, ok, ok, nack}, true, []int64{11, 12}, []int64{10}, 13, false, nack},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := judge(testPage(2, 0, 3, 1), test.errs, func(*entry, []Message) bool { return test.hopeless })
			var parked []int64
			for _, p := range v.parks {
				parked = append(parked, p.ID)
			}
			var failed int64
			if v.failed != nil {
				failed = v.failed.ID
			}
			if diff := cmp.Diff(test.done, v.done); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.parked, parked); diff != "" {
				t.Errorf("parked (-want +got):\n%s", diff)
			}
			if failed != test.failed || v.returned != test.returned || !errors.Is(v.cause, test.cause) {
				t.Errorf("failed %d, returned %v, cause %v; want %d, %v, %v", failed, v.returned, v.cause, test.failed, test.returned, test.cause)
			}
		})
	}
}

func TestParkedRowKeepsWhatIsLeft(t *testing.T) {
	hopeless := func(*entry, []Message) bool { return true }
	page := testPage(3, 2)
	page = append(page, entry{Row: Row{ID: 99}, err: errors.New("unreadable")})
	v := judge(page, []error{nil, errTestReturn, nil, errTestReturn, errTestReturn}, hopeless)
	if len(v.parks) != 3 {
		t.Fatalf("parks = %+v", v.parks)
	}
	left, err := DecodeRow(v.parks[0].Payload)
	if err != nil || len(left) != 1 || left[0].ID != "10.1" || !strings.Contains(v.parks[0].Reason, `"10.1"`) {
		t.Errorf("partly taken row: left %+v, %v, reason %q", left, err, v.parks[0].Reason)
	}
	if v.parks[1].Payload != nil || v.parks[2].Payload != nil {
		t.Errorf("rows nothing of which was taken must stay as they are: %q, %q", v.parks[1].Payload, v.parks[2].Payload)
	}
	if v.parks[2].Reason != "unreadable" {
		t.Errorf("reason %q", v.parks[2].Reason)
	}
}

func TestDeadRoutes(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return now.Add(time.Duration(second) * time.Second) }
	a, b := Message{Exchange: "x", Key: "a"}, Message{Exchange: "x", Key: "b"}
	delayed := Message{Exchange: "x", Key: "a", DelayQueue: "q"}
	d := deadRoutes{}
	d.add([]Message{a}, at(0), at(60))
	for _, test := range []struct {
		messages []Message
		second   int
		want     bool
	}{
		{[]Message{a, a}, 59, true},
		{[]Message{a}, 60, false}, // no longer
		{[]Message{b}, 0, false},
		{[]Message{a, b}, 0, false},
		{[]Message{delayed}, 0, false},
	} {
		if got := d.haveAll(test.messages, at(test.second)); got != test.want {
			t.Errorf("haveAll(%v, second %d) = %v", test.messages, test.second, got)
		}
	}
	d.remove([]Message{a, b}, []error{errTestReturn, nil})
	if !d.haveAll([]Message{a}, at(0)) {
		t.Error("a message that was not taken revived its route")
	}
	d.remove([]Message{b, a}, []error{errTestReturn, nil})
	if d.haveAll([]Message{a}, at(0)) {
		t.Error("a message that was taken did not revive its route")
	}
	for i := range 2 * maxDeadRoutes {
		d.add([]Message{{Key: fmt.Sprint(i)}}, at(0), at(60))
	}
	if len(d) != maxDeadRoutes {
		t.Errorf("%d routes, limit %d", len(d), maxDeadRoutes)
	}
	d.add([]Message{a}, at(60), at(120))
	if len(d) != 1 || !d.haveAll([]Message{a}, at(61)) {
		t.Errorf("%d routes after the others ended, want the new one", len(d))
	}
}

type refusingPublisher struct{ t *testing.T }

func (p refusingPublisher) PublishBatch(context.Context, []Message, time.Time) []error {
	p.t.Error("published without a lease")
	return nil
}

// A process that was frozen runs on before its timers fire: the lease is looked
// at right before each batch.
func TestNothingIsPublishedOnALeaseThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := NewRelay(NewMemory(time.Now), refusingPublisher{t}, Options{Owner: "a", Shards: 1})
		if err != nil {
			t.Fatal(err)
		}
		l := &lease{relay: r, fence: 1}
		l.extend(time.Now().Add(-r.options.Lease + r.options.LeaseMargin))
		s := newSession(r, l, t.Context(), t.Context())
		if _, err := s.publish(testPage(1)); !errors.Is(err, errLeaseEnded) {
			t.Errorf("publish = %v, want the end of the lease", err)
		}
	})
}
