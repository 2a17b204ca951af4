package console

import (
	"context"
	"io"
	"time"

	"couponlease/internal/coupon"
)

// Flow is a redemption at a till, step by step.
type Flow struct {
	RedeemNo  string `json:"redeemNo"`
	RequestID string `json:"requestId"`
	CouponID  string `json:"couponId"`
	// Steps are PROCESSING and how it ended, if it has.
	Steps []FlowStep `json:"steps"`
}

// FlowStep is one step of a redemption at a till.
type FlowStep struct {
	At          time.Time       `json:"at"`
	Step        coupon.FlowStep `json:"step"`
	Code        coupon.Code     `json:"code,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	PaymentID   string          `json:"paymentId,omitempty"`
	LeaseID     string          `json:"leaseId,omitempty"`
	OperationID string          `json:"operationId,omitempty"`
	MessageID   string          `json:"messageId,omitempty"`
	// Next says what a refusal asks for.
	Next string `json:"next,omitempty"`
}

// Flow reads a redemption by its redeem number, and whether there is one.
func (d *Database) Flow(ctx context.Context, redeemNo string) (Flow, bool, error) {
	rows, err := d.store.Flow(ctx, redeemNo)
	if err != nil || len(rows) == 0 {
		return Flow{}, false, err
	}
	f := Flow{RedeemNo: rows[0].RedeemNo, RequestID: rows[0].Request, CouponID: rows[0].Coupon}
	for i := range rows {
		r := &rows[i]
		f.Steps = append(f.Steps, FlowStep{
			At: r.At, Step: r.Step, Code: r.Code, Reason: r.Reason, PaymentID: r.Payment, LeaseID: r.LeaseID,
			OperationID: r.Operation, MessageID: r.Cause, Next: hint("RedeemRequested", r.Code),
		})
	}
	return f, true, nil
}

// why gives what is known of the reasons for a step.
func (s FlowStep) why() string {
	return reasons("", string(s.Code), "", s.Reason, "payment ", s.PaymentID, "message ", s.MessageID)
}

// WriteText prints one step a line.
func (f Flow) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("redemption  %s, request %s", f.RedeemNo, f.RequestID)
	out.addf("coupon      %s", f.CouponID)
	out.addf("")
	rows := [][]string{{"TIME", "STEP", "LEASE", "OPERATION", "WHY"}}
	next := ""
	for _, s := range f.Steps {
		rows = append(rows, []string{
			s.At.UTC().Format("2006-01-02 15:04:05.000"), string(s.Step), orDash(s.LeaseID), orDash(s.OperationID), s.why(),
		})
		next = s.Next
	}
	out.table(rows)
	if !f.Steps[len(f.Steps)-1].Step.Ends() {
		next = "the till has neither confirmed nor given up; its lease lapses by itself"
	}
	if next != "" {
		out.addf("next        %s", next)
	}
	return out.err
}
