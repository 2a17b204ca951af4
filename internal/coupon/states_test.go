package coupon_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

// diagram draws the transition table.
func diagram() string {
	var text strings.Builder
	text.WriteString("stateDiagram-v2\n")
	for _, t := range coupon.Table() {
		from := string(t.From)
		if t.From == coupon.None {
			from = "[*]"
		}
		fmt.Fprintf(&text, "    %s --> %s: %s (%s)\n", from, t.To, t.Operation, t.Who)
	}
	return text.String()
}

// TestStateDiagram holds the diagram in the documents against the table.
func TestStateDiagram(t *testing.T) {
	const (
		golden   = "testdata/states.mmd"
		document = "../../ARCHITECTURE.md"
		begin    = "<!-- states -->\n"
		end      = "<!-- /states -->"
	)
	architecture, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(architecture), begin)
	drawn, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no place for the diagram: want a line %q and a line %q", document, begin, end)
	}
	want := "```mermaid\n" + diagram() + "```\n"
	if *update {
		for path, text := range map[string]string{golden: diagram(), document: before + begin + want + end + after} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	kept, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kept), diagram()); diff != "" {
		t.Errorf("%s (-want +got, -update accepts):\n%s", golden, diff)
	}
	if diff := cmp.Diff(drawn, want); diff != "" {
		t.Errorf("%s (-want +got, -update accepts):\n%s", document, diff)
	}
}

// TestTable: what is final stays final, and what is over comes back only by a
// return or a reversal.
func TestTable(t *testing.T) {
	reached := map[coupon.State]bool{}
	for _, edge := range coupon.Table() {
		reached[edge.To] = true
		if !coupon.Allowed(edge.Operation, edge.From, edge.To) {
			t.Errorf("%+v is in the table, but not allowed", edge)
		}
		switch {
		case edge.From == coupon.Refunded:
			t.Errorf("%s leaves REFUNDED", edge.Operation)
		case edge.From == coupon.Expired:
			t.Errorf("%s leaves EXPIRED", edge.Operation)
		case edge.From == coupon.Void && edge.Operation != coupon.Reverse:
			t.Errorf("%s leaves VOID", edge.Operation)
		case edge.To == coupon.Used && edge.From != coupon.Locked && edge.Operation != coupon.Reverse:
			t.Errorf("%s uses a coupon without a lease", edge.Operation)
		case edge.From == coupon.Used && (edge.Operation == coupon.Release || edge.Operation == coupon.Expire):
			t.Errorf("%s ends a use", edge.Operation)
		}
	}
	for _, state := range coupon.States() {
		if !reached[state] {
			t.Errorf("nothing leads to %s", state)
		}
	}
	for _, from := range coupon.States() {
		if coupon.Allowed(coupon.Issue, from, coupon.Available) || coupon.Allowed("GUESS", from, coupon.Used) {
			t.Errorf("an operation that is not in the table is allowed from %s", from)
		}
	}
}
