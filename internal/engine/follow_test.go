package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/simulate"
)

// interrupted is a ledger whose transactions fail at first, each in another way.
type interrupted struct {
	engine.Ledger
	failures []error
}

var errAway = errors.New("the database is away")

func (l *interrupted) Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error {
	if len(l.failures) == 0 {
		return l.Ledger.Apply(ctx, requests, decide)
	}
	err := l.failures[0]
	l.failures = l.failures[1:]
	if !errors.Is(err, errAway) {
		panic(err)
	}
	return err
}

// Each attempt at a transaction is followed from its beginning to its end, whatever the
// end.
func TestEachAttemptIsFollowed(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name     string
		failures []error
		want     []string
	}{
		{"it is committed", nil, []string{"1 requests", "decided 1, <nil>"}},
		{"at the second attempt", []error{errAway},
			[]string{"1 requests", "decided 0, the database is away", "1 requests", "decided 1, <nil>"}},
		{"it panics", []error{errors.New("a defect")}, []string{"1 requests", "decided 0, panicked"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ledger := simulate.NewLedger(func() time.Time { return now }, coupon.DefaultRules(), simulate.NewSource("follow"))
			var got []string
			e := engine.New(&interrupted{ledger, test.failures}, func(*coupon.Changes) ([]coupon.OutboxRow, error) { return nil, nil },
				engine.Options{
					Limits:   batcher.Limits{Workers: 1, BackoffFirst: time.Millisecond, BackoffMost: time.Millisecond},
					Classify: func(error) batcher.Class { return batcher.Transient },
					Follow: func(requests []coupon.Request) func(int, error) {
						got = append(got, fmt.Sprint(len(requests), " requests"))
						return func(decided int, err error) { got = append(got, fmt.Sprintf("decided %d, %v", decided, err)) }
					},
				})
			_, err := e.Submit(t.Context(), coupon.Request{At: now, Actor: "test", Fact: coupon.DefineTemplate{
				Template: coupon.Template{ID: "T", Terms: coupon.Terms{Status: coupon.TemplateActive}},
			}})
			if closed := e.Close(t.Context()); closed != nil {
				t.Fatal(closed)
			}
			if panicked := len(test.want) == 2 && test.failures != nil; (err != nil) != panicked {
				t.Errorf("answered with error %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("followed (-want +got):\n%s", diff)
			}
		})
	}
}
