package main

import (
	"strings"
	"testing"

	"couponlease/internal/console"
	"couponlease/internal/simulate"
)

// domain holds the acceptance cases that the simulator is tested with.
const domain = "../../internal/simulate/testdata/domain.jsonl"

func TestCasesPassInMemoryAndOnPostgresAlike(t *testing.T) {
	onPostgres(t)
	verdicts := map[string]simulate.Verdict{}
	for _, ledger := range []string{"memory", "postgres"} {
		o := ctl(t, "cases", "run", domain, "--on", ledger, "--output", "json")
		summary := decode[console.CasesSummary](t, o)
		for _, report := range summary.Reports {
			if report.Verdict == simulate.Failed {
				t.Errorf("on %s: %s %s: %s", ledger, report.ID, report.Title, report.Detail)
			}
			if known, other := verdicts[report.ID]; other && known != report.Verdict {
				t.Errorf("%s: %s in memory, %s on postgres", report.ID, known, report.Verdict)
			}
			verdicts[report.ID] = report.Verdict
		}
		o.want(t, exitOK)
		if summary.Passed < 69 {
			t.Errorf("on %s only %d cases passed", ledger, summary.Passed)
		}
	}
}

// line is a case in which one order takes the coupon; state is what it expects.
func line(id, state string) string {
	return `{"id": "` + id + `", "title": "one order", "sequence": [{"t": 0, "do": "OrderPlaced", "order": "A", ` +
		`"customer": "u1", "coupons": ["c1"], "eventId": "e1"}], "right": {"assert": {"states": {"c1": "` + state + `"}}}}` + "\n"
}

func TestAFailedCaseEndsWithCode2(t *testing.T) {
	onPostgres(t)
	text := line("X-1", "LOCKED") + line("X-2", "USED") + line("X-1", "LOCKED")
	for _, ledger := range []string{"memory", "postgres"} {
		t.Run(ledger, func(t *testing.T) {
			ctlWith(t, text, "cases", "run", "-", "--on", ledger).want(t, exitFindings,
				"ok           X-1", "FAIL         X-2", "expected USED, got LOCKED", "3 cases: 2 ok, 1 failed, 0 unsupported")
		})
	}
}

func TestCasesOnlyAndVerbose(t *testing.T) {
	path := file(t, "cases.jsonl", line("X-1", "LOCKED")+line("X-2", "USED"))
	o := ctl(t, "cases", "run", path, "--only", "X-1", "--verbose")
	o.want(t, exitOK, "OrderPlaced A OK", "1 case: 1 ok")
	if strings.Contains(o.stdout, "X-2") {
		t.Errorf("a case that was not asked for was run:\n%s", o.stdout)
	}
	ctl(t, "cases", "run", path, "--only", "X-9").want(t, exitFindings, "no case X-9")
}

func TestAnUnsupportedOperationIsNamedAndNoFailure(t *testing.T) {
	text := `{"id": "X-3", "title": "dance", "sequence": [{"t": 0, "do": "Dance"}], "right": {"assert": {}}}`
	ctlWith(t, text, "cases", "run", "-").want(t, exitOK, "unsupported  X-3", "Dance", "1 unsupported")
}

func TestAFileThatHoldsNoCasesEndsWithCode2(t *testing.T) {
	ctlWith(t, "nonsense\n", "cases", "run", "-").want(t, exitFindings, "line 1")
}
