package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
)

// Outcomes in the audit log of what is more than one transaction, such as an import. It
// has two rows with one key: what is going to be done, and what was done. The first
// without the second is a command that was killed.
const (
	auditStarted coupon.Code = "STARTED"
	auditDone    coupon.Code = "DONE"
	auditStopped coupon.Code = "STOPPED"
)

// auditTimeout bounds how long the row about the end may take.
const auditTimeout = 10 * time.Second

// worked is what some work came to.
type worked struct {
	// count is how many coupons, or copies of a message, were made.
	count int64
	// isStopped says that it did not come to its end, although nothing failed.
	isStopped bool
	// report is what the row about the end keeps; nil keeps what was asked.
	report any
}

// aroundAudit does some work between two rows of the audit log. The row names actor,
// action, subject and reason; asked is what it keeps of the command.
func aroundAudit(
	ctx context.Context, record func(context.Context, coupon.AuditRow) error, row coupon.AuditRow, asked any,
	work func() (worked, error),
) error {
	key, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("draw the key of an audit row: %w", err)
	}
	row.Key, row.Code = key.String(), auditStarted
	if row.Arguments, err = json.Marshal(asked); err != nil {
		return fmt.Errorf("write down what %s is asked: %w", row.Action, err)
	}
	if err := record(ctx, row); err != nil {
		return err
	}
	done, failed := work()
	row.Code, row.Count = auditDone, done.count
	if failed != nil || done.isStopped {
		row.Code = auditStopped
	}
	if done.report != nil {
		if row.Arguments, err = json.Marshal(done.report); err != nil {
			return errors.Join(failed, fmt.Errorf("write down what %s did: %w", row.Action, err))
		}
	}
	// What was interrupted has done something all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	return errors.Join(failed, record(ctx, row))
}
