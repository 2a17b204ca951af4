package store

import (
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

// scanAnswerRow reads the columns of read_answers.sql.
func scanAnswerRow(row scanTarget) (*coupon.Answer, error) {
	var (
		a               coupon.Answer
		token, refusals []byte
	)
	err := row.Scan(&a.Key, toHash{&a.Hash}, &a.Kind, &a.Coupon, &a.Order, toText{(*string)(&a.Status)},
		toText{(*string)(&a.Code)}, toText{(*string)(&a.State)}, &a.Version, toText{&a.LeaseID}, toTime{&a.Deadline},
		toText{&a.Operation}, &token, &refusals, &a.Cause, &a.Actor, toTime{&a.At}, toTime{&a.Done})
	if err != nil {
		return nil, err
	}
	if token != nil {
		a.Token = &coupon.TokenHash{}
		if err := (toHash{(*[32]byte)(a.Token)}).ScanBytes(token); err != nil {
			return nil, fmt.Errorf("lease %s of an answer: %w", a.LeaseID, err)
		}
	}
	if refusals != nil {
		if err := json.Unmarshal(refusals, &a.Refusals); err != nil {
			return nil, fmt.Errorf("refusals of the answer %s: %w", a.Key, err)
		}
	}
	return &a, nil
}

// scanFlowRow reads the columns of read_flow.sql.
func scanFlowRow(row scanTarget) (f coupon.FlowRow, err error) {
	err = row.Scan(&f.RedeemNo, &f.Request, toText{(*string)(&f.Step)}, &f.Coupon, toText{&f.LeaseID},
		toText{&f.Operation}, toText{(*string)(&f.Code)}, &f.Reason, &f.Payment, &f.Cause, toTime{&f.At})
	return f, err
}

func (tx *transaction) scanAnswer(rows pgx.Rows) error {
	a, err := scanAnswerRow(rows)
	if err != nil {
		return err
	}
	tx.world.AddAnswer(a)
	return nil
}

// scanReview reads the columns of read_reviews.sql.
func (tx *transaction) scanReview(rows pgx.Rows) error {
	r, err := scanReviewRow(rows)
	if err != nil {
		return err
	}
	review := &coupon.Review{ReviewRow: r.ReviewRow}
	if !r.ResolvedAt.IsZero() {
		review.Resolution = &coupon.Resolution{
			Review: r.ID, Outcome: coupon.ReviewOutcome(r.Resolution), Actor: r.ResolvedBy, Note: r.Note, At: r.ResolvedAt,
		}
	}
	tx.world.AddReview(review)
	return nil
}

// scanLast reads the columns of read_lasts.sql.
func (tx *transaction) scanLast(rows pgx.Rows) error {
	var (
		last coupon.Last
		r    coupon.Redemption
	)
	err := rows.Scan(append(operationTargets(&last.Operation),
		toText{&r.ID}, toInt{&r.Cycle}, toText{&r.Order}, toText{&r.Payment}, toText{&r.LeaseID}, toText{&r.OperationID},
		toInt{&r.PolicyVersion})...)
	if err != nil {
		return err
	}
	if r.ID != "" {
		last.Redemption = &r
		tx.revivable = append(tx.revivable, r.PolicyVersion)
	}
	tx.world.AddLast(last)
	return nil
}
