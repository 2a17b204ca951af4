package store

import (
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// scanTarget is a row that can be scanned.
type scanTarget interface{ Scan(dest ...any) error }

// scanCouponRow reads the columns of lock_coupons.sql.
func scanCouponRow(row scanTarget) (*coupon.Coupon, error) {
	var (
		c coupon.Coupon
		l coupon.Lease
		r coupon.Redemption
	)
	err := row.Scan(
		&c.ID, &c.Code, &c.Template, &c.Owner, &c.Batch, toText{(*string)(&c.State)}, &c.Version, toTime{&c.ValidFrom},
		toTime{&c.ValidUntil}, &c.PolicyVersion, &c.Leases, &c.Cycle, toText{(*string)(&c.VoidedFrom)},
		toText{(*string)(&c.Origin)}, toInt{&c.ClaimNo}, &c.TemplateVersion,
		toText{&l.ID}, toInt{&l.Generation}, toText{&l.Order}, toHash{(*[32]byte)(&l.TokenHash)},
		toText{(*string)(&l.Purpose)}, toTime{&l.Deadline}, toInt{&l.AcquiredVersion}, toInt{&l.Version},
		toText{&r.ID}, toInt{&r.Cycle}, toText{&r.Order}, toText{&r.Payment}, toText{&r.LeaseID}, toText{&r.OperationID},
		toInt{&r.PolicyVersion},
	)
	if err != nil {
		return nil, err
	}
	if l.ID != "" {
		c.Lease = &l
	}
	if r.ID != "" {
		c.Redemption = &r
	}
	return &c, nil
}

// scanOrderRow reads the columns of lock_orders.sql.
func scanOrderRow(row scanTarget) (*coupon.Order, error) {
	var (
		o                coupon.Order
		payments, closes []byte
		reviews          []string
	)
	err := row.Scan(&o.ID, &o.Parent, &o.Children, &o.Supersedes, &o.SupersededBy, &o.Placed, toTime{&o.PlacedAt},
		&o.Revision, &o.Customer, &o.Payable, &o.Currency, &payments, &closes, &reviews)
	if err != nil {
		return nil, err
	}
	if err := unmarshalFacts(payments, &o.Payments); err != nil {
		return nil, fmt.Errorf("payments of order %s: %w", o.ID, err)
	}
	if err := unmarshalFacts(closes, &o.Closes); err != nil {
		return nil, fmt.Errorf("closes of order %s: %w", o.ID, err)
	}
	o.Children, o.Reviews = orNil(o.Children), reviewReasons(reviews)
	return &o, nil
}

const noFacts = "[]"

func unmarshalFacts[Fact any](document []byte, to *[]Fact) error {
	if string(document) == noFacts {
		return nil
	}
	return json.Unmarshal(document, to)
}

// scanNamedRow reads the columns of read_named.sql after the order.
func scanNamedRow(row scanTarget) (order string, n coupon.Named, err error) {
	var reviews []string
	err = row.Scan(&order, &n.Coupon, toText{(*string)(&n.Refusal)}, toText{&n.LeaseID}, toText{&n.RedemptionID},
		&n.QuoteID, &n.Discount, &n.PolicyVersion, &n.Dropped, &reviews)
	n.Reviews = reviewReasons(reviews)
	return order, n, err
}

// orNil gives nil for an empty list, as a row has it that was never written.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

func reviewReasons(texts []string) []coupon.ReviewReason {
	if len(texts) == 0 {
		return nil
	}
	reasons := make([]coupon.ReviewReason, len(texts))
	for i, text := range texts {
		reasons[i] = coupon.ReviewReason(text)
	}
	return reasons
}

func scanReceiptRow(row scanTarget) (*coupon.Receipt, error) {
	var r coupon.Receipt
	err := row.Scan(&r.ID, toHash{&r.Hash}, toTime{&r.At}, &r.Kind, &r.Order, toText{(*string)(&r.Code)},
		toText{(*string)(&r.Status)}, toTime{&r.Done})
	return &r, err
}

func (tx *transaction) scanOrder(rows pgx.Rows) error {
	o, err := scanOrderRow(rows)
	if err != nil {
		return err
	}
	tx.orders[o.ID] = o
	return nil
}

func (tx *transaction) scanNamed(rows pgx.Rows) error {
	id, named, err := scanNamedRow(rows)
	if err != nil {
		return err
	}
	o, err := tx.order(id)
	if err != nil {
		return err
	}
	o.Named = append(o.Named, named)
	tx.named[orderCoupon{id, named.Coupon}] = named
	return nil
}

func (tx *transaction) scanRefund(rows pgx.Rows) error {
	id, refund, err := scanRefundRow(rows)
	if err != nil {
		return err
	}
	o, err := tx.order(id)
	if err != nil {
		return err
	}
	o.Refunds = append(o.Refunds, refund)
	return nil
}

func scanRefundRow(row scanTarget) (order string, r coupon.Refund, err error) {
	err = row.Scan(&order, &r.ID, &r.Amount, &r.Reason, toTime{&r.At})
	return order, r, err
}

func (tx *transaction) scanDecided(rows pgx.Rows) error {
	var order, refund, couponID string
	if err := rows.Scan(&order, &refund, &couponID); err != nil {
		return err
	}
	o, err := tx.order(order)
	if err != nil {
		return err
	}
	return addDecided(o, refund, couponID)
}

// addDecided notes that a refund has its decision for a coupon.
func addDecided(o *coupon.Order, refund, couponID string) error {
	for i := range o.Refunds {
		if o.Refunds[i].ID == refund {
			o.Refunds[i].Decided = append(o.Refunds[i].Decided, couponID)
			return nil
		}
	}
	return fmt.Errorf("order %s has a decision on refund %s, but no such refund", o.ID, refund)
}

func (tx *transaction) scanUses(rows pgx.Rows) error {
	var u coupon.Uses
	if err := rows.Scan(&u.Template, &u.Person, &u.Held); err != nil {
		return err
	}
	tx.uses[usesKey{u.Template, u.Person}] = true
	tx.world.AddUses(&u)
	return nil
}

func (tx *transaction) scanCoupon(rows pgx.Rows) error {
	c, err := scanCouponRow(rows)
	tx.coupons = append(tx.coupons, c)
	return err
}

func (tx *transaction) scanReceipt(rows pgx.Rows) error {
	r, err := scanReceiptRow(rows)
	tx.world.AddReceipt(r)
	return err
}

// knownPolicies splits versions into policies that were read before and versions that
// were not.
func (s *Store) knownPolicies(versions map[int64]bool) (known []policy.Policy, unknown []int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for version := range versions {
		if p, ok := s.policies[version]; ok {
			known = append(known, p)
		} else {
			unknown = append(unknown, version)
		}
	}
	return known, unknown
}

// scanPolicy reads a committed policy and keeps it: it never changes.
func (s *Store) scanPolicy(row scanTarget) (policy.Policy, error) {
	var (
		version  int64
		document []byte
		p        policy.Policy
	)
	if err := row.Scan(&version, &document); err != nil {
		return p, err
	}
	if err := json.Unmarshal(document, &p); err != nil {
		return p, fmt.Errorf("policy %d: %w", version, err)
	}
	p.Version = version
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies[version] = p
	return p, nil
}
