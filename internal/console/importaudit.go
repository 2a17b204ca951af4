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

// audited does an import between its two rows of the audit log. A dry run has none.
func (r *importRun) audited(ctx context.Context, record func(context.Context, coupon.AuditRow) error) error {
	if r.options.DryRun {
		return r.work(ctx)
	}
	key, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("draw the id of the import: %w", err)
	}
	row := coupon.AuditRow{
		Actor: r.options.Actor, Action: "ImportCoupons", Subject: r.options.File, Reason: r.options.Reason, Key: key.String(),
	}
	row.Code = auditStarted
	if row.Arguments, err = json.Marshal(r.options.arguments()); err != nil {
		return fmt.Errorf("write down what is imported: %w", err)
	}
	if err := record(ctx, row); err != nil {
		return err
	}
	failed := r.work(ctx)
	row.Code, row.Count = auditDone, int64(r.report.Created)
	if failed != nil {
		row.Code = auditStopped
	}
	if row.Arguments, err = json.Marshal(r.report); err != nil {
		return errors.Join(failed, fmt.Errorf("write down what was imported: %w", err))
	}
	// An import that was interrupted has done something all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	return errors.Join(failed, record(ctx, row))
}

// importArguments is how an import was asked for.
type importArguments struct {
	Template string           `json:"template,omitempty"`
	Zone     string           `json:"zone"`
	Define   *coupon.Template `json:"define,omitempty"`
}

func (o ImportOptions) arguments() importArguments {
	return importArguments{Template: o.Template, Zone: o.Zone.String(), Define: o.Define}
}
