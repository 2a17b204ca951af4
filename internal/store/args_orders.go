package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

func orderColumns(rows []orderRow) []any {
	return []any{
		collect[texts](rows, func(r orderRow) string { return r.ID }),
		collect[integers](rows, func(r orderRow) int64 { return r.Revision }),
		collect[integers](rows, func(r orderRow) int64 { return r.Payable }),
		collect[times](rows, func(r orderRow) time.Time { return r.PlacedAt }),
		collect[booleans](rows, func(r orderRow) bool { return r.Placed }),
		collect[texts](rows, func(r orderRow) string { return r.Parent }),
		collect[texts](rows, func(r orderRow) string { return r.Supersedes }),
		collect[texts](rows, func(r orderRow) string { return r.SupersededBy }),
		collect[texts](rows, func(r orderRow) string { return r.Customer }),
		collect[texts](rows, func(r orderRow) string { return r.Currency }),
		collect[texts](rows, func(r orderRow) string { return r.children }),
		collect[texts](rows, func(r orderRow) string { return r.reviews }),
		collect[texts](rows, func(r orderRow) string { return r.payments }),
		collect[texts](rows, func(r orderRow) string { return r.closes }),
	}
}

func namedColumns(rows []namedRow) []any {
	return []any{
		collect[texts](rows, func(r namedRow) string { return r.order }),
		collect[texts](rows, func(r namedRow) string { return r.Coupon }),
		collect[integers](rows, func(r namedRow) int64 { return r.Discount }),
		collect[integers](rows, func(r namedRow) int64 { return r.PolicyVersion }),
		collect[uuids](rows, func(r namedRow) string { return r.LeaseID }),
		collect[uuids](rows, func(r namedRow) string { return r.RedemptionID }),
		collect[booleans](rows, func(r namedRow) bool { return r.Dropped }),
		collect[texts](rows, func(r namedRow) string { return string(r.Refusal) }),
		collect[texts](rows, func(r namedRow) string { return r.QuoteID }),
		collect[texts](rows, func(r namedRow) string { return arrayLiteral(r.Reviews) }),
	}
}

func refundColumns(rows []coupon.RefundRow) []any {
	type row = coupon.RefundRow
	return []any{
		collect[texts](rows, func(r row) string { return r.Order }),
		collect[texts](rows, func(r row) string { return r.ID }),
		collect[integers](rows, func(r row) int64 { return r.Amount }),
		collect[times](rows, func(r row) time.Time { return r.At }),
		collect[texts](rows, func(r row) string { return r.Reason }),
		collect[texts](rows, func(r row) string { return r.Cause }),
	}
}

func decisionColumns(rows []*coupon.RefundDecision) []any {
	type row = *coupon.RefundDecision
	return []any{
		collect[texts](rows, func(r row) string { return r.Order }),
		collect[texts](rows, func(r row) string { return r.Refund }),
		collect[texts](rows, func(r row) string { return r.Coupon }),
		collect[integers](rows, func(r row) int64 { return r.PolicyVersion }),
		collect[integers](rows, func(r row) int64 { return r.Payable }),
		collect[integers](rows, func(r row) int64 { return r.Paid }),
		collect[integers](rows, func(r row) int64 { return r.Refunded }),
		collect[times](rows, func(r row) time.Time { return r.At }),
		collect[uuids](rows, func(r row) string { return r.RedemptionID }),
		collect[uuids](rows, func(r row) string { return r.OperationID }),
		collect[texts](rows, func(r row) string { return r.Decision }),
	}
}

func compareReviews(a, b *coupon.ReviewRow) int {
	return cmp.Or(strings.Compare(a.Order, b.Order), strings.Compare(a.Coupon, b.Coupon),
		strings.Compare(string(a.Reason), string(b.Reason)))
}

// reviewRow is a case whose evidence is encoded.
type reviewRow struct {
	*coupon.ReviewRow
	evidence string
}

func encodeReviews(reviews []*coupon.ReviewRow) ([]reviewRow, error) {
	rows := make([]reviewRow, len(reviews))
	for i, review := range sorted(reviews, compareReviews) {
		document, err := json.Marshal(review.Evidence)
		if err != nil {
			return nil, fmt.Errorf("evidence of review %s: %w", review.ID, err)
		}
		rows[i] = reviewRow{review, string(document)}
	}
	return rows, nil
}

func reviewColumns(rows []reviewRow) []any {
	type row = reviewRow
	return []any{
		collect[uuids](rows, func(r row) string { return r.ID }),
		collect[times](rows, func(r row) time.Time { return r.At }),
		collect[texts](rows, func(r row) string { return r.Order }),
		collect[texts](rows, func(r row) string { return r.Coupon }),
		collect[texts](rows, func(r row) string { return string(r.Reason) }),
		collect[texts](rows, func(r row) string { return r.Suggestion }),
		collect[texts](rows, func(r row) string { return r.Cause }),
		collect[texts](rows, func(r row) string { return r.evidence }),
	}
}

func resolutionColumns(rows []*coupon.Resolution) []any {
	type row = *coupon.Resolution
	return []any{
		collect[uuids](rows, func(r row) string { return r.Review }),
		collect[times](rows, func(r row) time.Time { return r.At }),
		collect[texts](rows, func(r row) string { return string(r.Outcome) }),
		collect[texts](rows, func(r row) string { return r.Actor }),
		collect[texts](rows, func(r row) string { return r.Note }),
	}
}

func usesColumns(rows []*coupon.Uses) []any {
	type row = *coupon.Uses
	return []any{
		collect[texts](rows, func(r row) string { return r.Template }),
		collect[texts](rows, func(r row) string { return r.Person }),
		collect[integers](rows, func(r row) int64 { return r.Held }),
	}
}

func policyColumns(rows []policyRow) []any {
	return []any{
		collect[integers](rows, func(r policyRow) int64 { return r.version }),
		collect[texts](rows, func(r policyRow) string { return r.document }),
	}
}

func (tx *transaction) outboxColumns(rows []coupon.OutboxRow) []any {
	return []any{
		collect[smalls](rows, func(r coupon.OutboxRow) int32 { return int32(r.Shard) }),
		collect[smalls](rows, func(r coupon.OutboxRow) int32 { return int32(r.Messages) }),
		tx.world.Now,
		collect[binaries](rows, func(r coupon.OutboxRow) []byte { return r.Payload }),
	}
}

func receiptColumns(rows []*coupon.Receipt) []any {
	type row = *coupon.Receipt
	return []any{
		collect[dates](rows, func(r row) time.Time { return dayOf(r.At) }),
		collect[times](rows, func(r row) time.Time { return r.At }),
		collect[times](rows, func(r row) time.Time { return r.Done }),
		collect[texts](rows, func(r row) string { return r.ID }),
		collect[binaries](rows, func(r row) []byte { return r.Hash[:] }),
		collect[texts](rows, func(r row) string { return r.Kind }),
		collect[texts](rows, func(r row) string { return r.Order }),
		collect[texts](rows, func(r row) string { return string(r.Code) }),
		collect[texts](rows, func(r row) string { return string(r.Status) }),
	}
}
