package console

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

// What is done between two rows of the audit log shows in the second how it ended.
func TestTwoRowsAroundAWork(t *testing.T) {
	errBroken := errors.New("broken")
	asked := map[string]int{"rows": 2}
	for _, test := range []struct {
		name    string
		done    worked
		failed  error
		code    coupon.Code
		count   int64
		details string
	}{
		{"done", worked{count: 2, report: map[string]int{"made": 2}}, nil, auditDone, 2, `{"made":2}`},
		{"without a report", worked{count: 1}, nil, auditDone, 1, `{"rows":2}`},
		{"stopped by an answer", worked{count: 1, isStopped: true}, nil, auditStopped, 1, `{"rows":2}`},
		{"failed", worked{count: 1}, errBroken, auditStopped, 1, `{"rows":2}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var rows []coupon.AuditRow
			record := func(ctx context.Context, row coupon.AuditRow) error {
				rows = append(rows, row)
				return ctx.Err()
			}
			row := coupon.AuditRow{Actor: "ann", Action: "Work", Subject: "s", Reason: "why"}
			err := aroundAudit(ctx, record, row, asked, func() (worked, error) {
				cancel() // whoever is interrupted is in the log all the same
				return test.done, test.failed
			})
			if !errors.Is(err, test.failed) || len(rows) != 2 || rows[0].Key == "" {
				t.Fatalf("%v, rows %+v", err, rows)
			}
			row.Key, row.Code, row.Arguments = rows[0].Key, auditStarted, []byte(`{"rows":2}`)
			end := row
			end.Code, end.Count, end.Arguments = test.code, test.count, []byte(test.details)
			if diff := cmp.Diff([]coupon.AuditRow{row, end}, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// What cannot be written down beforehand is not done.
func TestNothingIsDoneWithoutTheFirstRow(t *testing.T) {
	errAway := errors.New("away")
	err := aroundAudit(t.Context(), func(context.Context, coupon.AuditRow) error { return errAway }, coupon.AuditRow{}, nil,
		func() (worked, error) {
			t.Error("it was done")
			return worked{}, nil
		})
	if !errors.Is(err, errAway) {
		t.Errorf("got %v", err)
	}
}
