package console

import (
	"context"

	"couponlease/internal/coupon"
)

// audited does an import between its two rows of the audit log. A dry run has none.
func (r *importRun) audited(ctx context.Context, record func(context.Context, coupon.AuditRow) error) error {
	if r.options.DryRun {
		return r.work(ctx)
	}
	row := coupon.AuditRow{
		Actor: r.options.Actor, Action: "ImportCoupons", Subject: r.options.File, Reason: r.options.Reason,
	}
	return aroundAudit(ctx, record, row, r.options.arguments(), func() (worked, error) {
		err := r.work(ctx)
		return worked{count: int64(r.report.Created), report: r.report}, err
	})
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
