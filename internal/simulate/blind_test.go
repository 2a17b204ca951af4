package simulate

import (
	"context"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// blind hides that the memory ledger can judge everything in it, as a database
// shared with others could not.
type blind struct{ Backend }

func onBlind(now func() time.Time, rules coupon.Rules, source coupon.Source) Backend {
	return blind{onMemory(now, rules, source)}
}

// tampered shows one coupon otherwise than it is.
type tampered struct {
	Backend
	tamper func(*coupon.History)
}

func (b tampered) History(ctx context.Context, id string) (coupon.History, bool, error) {
	history, found, err := b.Backend.History(ctx, id)
	if found && strings.HasSuffix(id, "c1") {
		b.tamper(&history)
	}
	return history, found, err
}

// TestCasesOnSharedBackend: the runner judges what its run knows of, and comes to
// the same.
func TestCasesOnSharedBackend(t *testing.T) {
	for _, path := range []string{"testdata/domain.jsonl", "testdata/more.jsonl"} {
		for _, c := range readCases(t, path) {
			if report := RunCase(t.Context(), &c, onBlind); report.Verdict == Failed {
				t.Errorf("%s: %s", report.ID, report.Detail)
			}
		}
	}
}

// TestRunnerProvesInvariants: a case whose assertions hold fails all the same
// when an invariant does not.
func TestRunnerProvesInvariants(t *testing.T) {
	text := `{"id":"X","sequence":[{"do":"OrderPlaced","order":"A","customer":"u1","coupons":["c1"]},` +
		`{"do":"PaymentSucceeded","order":"A"}],"right":{"assert":{"nCoupons":1}}}`
	for _, c := range []struct {
		name   string
		tamper func(*coupon.History)
		want   string
	}{
		{"a version too many", func(h *coupon.History) { h.Coupon.Version++ }, "after step 0 (OrderPlaced): invariant 7"},
		{"a redemption lost", func(h *coupon.History) {
			if h.Coupon.State == coupon.Used {
				h.Coupon.State, h.Coupon.Redemption = coupon.Available, nil
			}
		}, "after step 1 (PaymentSucceeded): invariant 7"},
	} {
		cases, err := ReadCases(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		report := RunCase(t.Context(), &cases[0], func(now func() time.Time, rules coupon.Rules, source coupon.Source) Backend {
			return tampered{onBlind(now, rules, source), c.tamper}
		})
		if report.Verdict != Failed || !strings.Contains(report.Detail, c.want) || len(report.Steps) != 2 {
			t.Errorf("%s: %+v, want %q", c.name, report, c.want)
		}
	}
}

// TestSurvivorOfItsProcess: a backend that commits for a process that died is
// found out.
func TestSurvivorOfItsProcess(t *testing.T) {
	text := `{"id":"X","sequence":[{"do":"OrderPlaced","order":"A","customer":"u1","coupons":["c1"],"fault":"crash_before_commit"}]}`
	cases, err := ReadCases(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	report := RunCase(t.Context(), &cases[0], func(now func() time.Time, rules coupon.Rules, source coupon.Source) Backend {
		return undead{onMemory(now, rules, source)}
	})
	if report.Verdict != Failed || !strings.Contains(report.Detail, "survived the death") {
		t.Errorf("got %+v", report)
	}
}

// undead commits whatever becomes of its process.
type undead struct{ Backend }

func (b undead) Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error {
	return b.Backend.Apply(context.WithoutCancel(ctx), requests, decide)
}
