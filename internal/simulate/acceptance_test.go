package simulate

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestAcceptanceCases runs the cases from public reports. Those that need an
// operation that does not exist are listed with it, so that one which stops
// being run is noticed.
func TestAcceptanceCases(t *testing.T) {
	unsupported := map[string]string{
		"DC-060": "EditTemplate", "DC-078": "EditTemplate", "DC-079": "Claim",
		"DC-080": "Claim", "DC-081": "Claim", "DC-083": "Claim", "DC-085": "Claim", "DC-087": "Claim",
		"DC-089": "Claim", "DC-090": "Claim", "DC-093": "Claim", "DC-107": "EditTemplate", "DC-113": "Claim",
	}
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
	if diff := cmp.Diff(unsupported, missing); diff != "" {
		t.Errorf("unsupported cases (-want +got):\n%s", diff)
	}
	if passed != 69 {
		t.Errorf("%d cases passed, want 69", passed)
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
