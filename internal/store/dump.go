package store

import (
	"context"
	"encoding/json"
	"fmt"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// Dump is everything the engine has written, each list in the order of its key, so that
// two stores can be compared. It is for tests and small databases: all of it is in
// memory.
type Dump struct {
	// Histories are by coupon, Orders by id; refunds and decisions within are in the order
	// in which they came.
	Histories []coupon.History
	Orders    []*coupon.Order
	Templates []*coupon.Template
	Versions  []coupon.TemplateVersion
	// Uses that hold nothing are left out.
	Uses     []coupon.Uses
	Claims   []coupon.Claims
	Timers   []coupon.Timer
	Refunds  []coupon.RefundRow
	Reviews  []Review
	Receipts []*coupon.Receipt
	// Answers are those to commands, Flows the steps of redemptions at tills.
	Answers  []*coupon.Answer
	Flows    []coupon.FlowRow
	Outbox   []coupon.OutboxRow
	Policies []policy.Policy
}

// Dump reads everything as of one moment.
func (s *Store) Dump(ctx context.Context) (*Dump, error) {
	d := &Dump{}
	err := s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		if err := v.eachHistory(ctx, func(page []coupon.History) error {
			d.Histories = append(d.Histories, page...)
			return nil
		}); err != nil {
			return err
		}
		if err := v.eachOrder(ctx, func(page []*coupon.Order) error {
			d.Orders = append(d.Orders, page...)
			return nil
		}); err != nil {
			return err
		}
		return d.readRest(ctx, v)
	})
	if err != nil {
		return nil, fmt.Errorf("dump: %w", err)
	}
	return d, nil
}

func (d *Dump) readRest(ctx context.Context, v *snapshot) error {
	const all = 1 << 30
	t := &trip{}
	t.query("read templates", dumpTemplatesSQL, list(&d.Templates, scanTemplateRow))
	t.query("read the versions of templates", dumpTemplateVersionsSQL, list(&d.Versions, scanVersionRow))
	t.query("read claims", dumpClaimsSQL, list(&d.Claims, scanClaimsRow))
	t.query("read uses", dumpUsesSQL, list(&d.Uses, func(row scanTarget) (u coupon.Uses, err error) {
		err = row.Scan(&u.Template, &u.Person, &u.Held)
		return u, err
	}))
	t.query("read timers", dumpTimersSQL, list(&d.Timers, func(row scanTarget) (t coupon.Timer, err error) {
		err = row.Scan(toTime{&t.Due}, toText{&t.LeaseID}, &t.Version, &t.Coupon, &t.Order,
			toHash{(*[32]byte)(&t.TokenHash)})
		return t, err
	}))
	t.query("read refunds", dumpRefundsSQL, list(&d.Refunds, func(row scanTarget) (r coupon.RefundRow, err error) {
		err = row.Scan(&r.Order, &r.ID, &r.Amount, &r.Reason, toTime{&r.At}, &r.Cause)
		return r, err
	}))
	t.query("read reviews", reviewsSQL, list(&d.Reviews, scanReviewRow), noUUID, "", "", "", false, all)
	t.query("read receipts", dumpReceiptsSQL, list(&d.Receipts, scanReceiptRow))
	t.query("read answers", dumpAnswersSQL, list(&d.Answers, scanAnswerRow))
	t.query("read the steps of redemptions", dumpFlowsSQL, list(&d.Flows, scanFlowRow))
	t.query("read the outbox", dumpOutboxSQL, list(&d.Outbox, func(row scanTarget) (o coupon.OutboxRow, err error) {
		err = row.Scan(&o.Shard, &o.Messages, &o.Payload)
		return o, err
	}))
	t.query("read policies", dumpPoliciesSQL, list(&d.Policies, func(row scanTarget) (p policy.Policy, err error) {
		var (
			version  int64
			document []byte
		)
		if err := row.Scan(&version, &document); err != nil {
			return p, err
		}
		return p, json.Unmarshal(document, &p)
	}))
	return v.send(ctx, t)
}
