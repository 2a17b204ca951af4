package simulate

import (
	"os"
	"slices"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// onMemory opens a fresh memory ledger for each run.
func onMemory(now func() time.Time, rules coupon.Rules, source coupon.Source) Backend {
	return NewLedger(now, rules, source)
}

func readCases(t *testing.T, path string) []Case {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cases, err := ReadCases(file)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestAcceptanceCases runs the cases from public reports, all of them.
func TestAcceptanceCases(t *testing.T) {
	missing := map[string]string{}
	passed := 0
	for _, c := range readCases(t, "testdata/domain.jsonl") {
		switch report := RunCase(t.Context(), &c, onMemory); report.Verdict {
		case Passed:
			passed++
		case Unsupported:
			missing[report.ID] = report.Detail
		default:
			t.Errorf("%s %s: %s\n%v", report.ID, report.Title, report.Detail, report.Steps)
		}
	}
	if len(missing) > 0 {
		t.Errorf("unsupported cases: %v", missing)
	}
	if passed != 82 {
		t.Errorf("%d cases passed, want 82", passed)
	}
}

// TestOwnCases runs the cases written for this product; all of them are run.
func TestOwnCases(t *testing.T) {
	cases := readCases(t, "testdata/more.jsonl")
	if len(cases) < 30 {
		t.Errorf("%d cases, want 30 at least", len(cases))
	}
	var ids []string
	for _, c := range cases {
		if slices.Contains(ids, c.ID) {
			t.Errorf("case %s is there twice", c.ID)
		}
		ids = append(ids, c.ID)
		if len(c.Right.Assert) == 0 {
			t.Errorf("case %s asserts nothing", c.ID)
		}
		if report := RunCase(t.Context(), &c, onMemory); report.Verdict != Passed {
			t.Errorf("%s %s: %s %s\n%v", report.ID, report.Title, report.Verdict, report.Detail, report.Steps)
		}
	}
}
