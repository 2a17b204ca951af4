package store

import (
	"cmp"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// Each function here gives the columns of one statement, in the order of its
// parameters, and each comparison the order of its key.

type couponChange = coupon.CouponChange

func couponUpdate(rows []couponChange) []any {
	return append([]any{
		collect[texts](rows, func(r couponChange) string { return r.Row.ID }),
		collect[integers](rows, func(r couponChange) int64 { return r.Base }),
	}, couponState(rows)...)
}

func couponInsert(rows []couponChange) []any {
	return append([]any{
		collect[texts](rows, func(r couponChange) string { return r.Row.ID }),
		collect[texts](rows, func(r couponChange) string { return r.Row.Code }),
		collect[texts](rows, func(r couponChange) string { return r.Row.Template }),
		collect[texts](rows, func(r couponChange) string { return r.Row.Owner }),
		collect[texts](rows, func(r couponChange) string { return r.Row.Batch }),
		collect[times](rows, func(r couponChange) time.Time { return r.Row.ValidFrom }),
		collect[integers](rows, func(r couponChange) int64 { return r.Row.PolicyVersion }),
		collect[texts](rows, func(r couponChange) string { return string(r.Row.Origin) }),
		collect[optionalIntegers](rows, func(r couponChange) int64 { return r.Row.ClaimNo }),
		collect[integers](rows, func(r couponChange) int64 { return r.Row.TemplateVersion }),
	}, couponState(rows)...)
}

// couponState gives the columns that operations change.
func couponState(rows []couponChange) []any {
	var (
		noLease      coupon.Lease
		noRedemption coupon.Redemption
	)
	leases := collect[[]*coupon.Lease](rows, func(r couponChange) *coupon.Lease {
		return cmp.Or(r.Row.Lease, &noLease)
	})
	redemptions := collect[[]*coupon.Redemption](rows, func(r couponChange) *coupon.Redemption {
		return cmp.Or(r.Row.Redemption, &noRedemption)
	})
	return []any{
		collect[texts](rows, func(r couponChange) string { return string(r.Row.State) }),
		collect[integers](rows, func(r couponChange) int64 { return r.Row.Version }),
		collect[times](rows, func(r couponChange) time.Time { return r.Row.ValidUntil }),
		collect[integers](rows, func(r couponChange) int64 { return r.Row.Leases }),
		collect[integers](rows, func(r couponChange) int64 { return r.Row.Cycle }),
		collect[texts](rows, func(r couponChange) string { return string(r.Row.VoidedFrom) }),
		collect[uuids](leases, func(l *coupon.Lease) string { return l.ID }),
		collect[optionalIntegers](leases, func(l *coupon.Lease) int64 { return l.Generation }),
		collect[optionalTexts](leases, func(l *coupon.Lease) string { return l.Order }),
		collect[binaries](leases, func(l *coupon.Lease) []byte {
			if l == &noLease {
				return nil
			}
			return l.TokenHash[:]
		}),
		collect[optionalTexts](leases, func(l *coupon.Lease) string { return string(l.Purpose) }),
		collect[times](leases, func(l *coupon.Lease) time.Time { return l.Deadline }),
		collect[optionalIntegers](leases, func(l *coupon.Lease) int64 { return l.AcquiredVersion }),
		collect[optionalIntegers](leases, func(l *coupon.Lease) int64 { return l.Version }),
		collect[uuids](redemptions, func(r *coupon.Redemption) string { return r.ID }),
		collect[optionalIntegers](redemptions, func(r *coupon.Redemption) int64 { return r.Cycle }),
		collect[optionalTexts](redemptions, func(r *coupon.Redemption) string { return r.Order }),
		collect[optionalTexts](redemptions, func(r *coupon.Redemption) string { return r.Payment }),
		collect[uuids](redemptions, func(r *coupon.Redemption) string { return r.LeaseID }),
		collect[uuids](redemptions, func(r *coupon.Redemption) string { return r.OperationID }),
		collect[optionalIntegers](redemptions, func(r *coupon.Redemption) int64 { return r.PolicyVersion }),
	}
}

func compareOperations(a, b *coupon.OperationRow) int {
	return cmp.Or(strings.Compare(a.Coupon, b.Coupon), cmp.Compare(a.To, b.To))
}

func operationColumns(rows []*coupon.OperationRow) []any {
	type row = *coupon.OperationRow
	return []any{
		collect[texts](rows, func(r row) string { return r.Coupon }),
		collect[integers](rows, func(r row) int64 { return r.To }),
		collect[integers](rows, func(r row) int64 { return r.From }),
		collect[integers](rows, func(r row) int64 { return r.PolicyVersion }),
		collect[times](rows, func(r row) time.Time { return r.ValidUntil }),
		collect[times](rows, func(r row) time.Time { return r.At }),
		collect[uuids](rows, func(r row) string { return r.ID }),
		collect[uuids](rows, func(r row) string { return r.LeaseID }),
		collect[uuids](rows, func(r row) string { return r.RedemptionID }),
		collect[uuids](rows, func(r row) string { return r.Original }),
		collect[texts](rows, func(r row) string { return string(r.Operation) }),
		collect[texts](rows, func(r row) string { return string(r.FromState) }),
		collect[texts](rows, func(r row) string { return string(r.ToState) }),
		collect[texts](rows, func(r row) string { return r.Reason }),
		collect[texts](rows, func(r row) string { return r.Order }),
		collect[texts](rows, func(r row) string { return r.Payment }),
		collect[texts](rows, func(r row) string { return r.Refund }),
		collect[texts](rows, func(r row) string { return r.Cause }),
		collect[texts](rows, func(r row) string { return r.Actor }),
		collect[optionalTexts](rows, func(r row) string { return r.BusinessKey }),
		collect[binaries](rows, func(r row) []byte { return r.RequestHash }),
	}
}

func compareLeases(a, b *coupon.LeaseRow) int {
	return cmp.Or(strings.Compare(a.Coupon, b.Coupon), cmp.Compare(a.Version, b.Version))
}

func leaseColumns(rows []*coupon.LeaseRow) []any {
	type row = *coupon.LeaseRow
	return []any{
		collect[texts](rows, func(r row) string { return r.Coupon }),
		collect[integers](rows, func(r row) int64 { return r.Version }),
		collect[integers](rows, func(r row) int64 { return r.Generation }),
		collect[integers](rows, func(r row) int64 { return r.AcquiredAt }),
		collect[times](rows, func(r row) time.Time { return r.Deadline }),
		collect[times](rows, func(r row) time.Time { return r.GrantedAtTime }),
		collect[uuids](rows, func(r row) string { return r.LeaseID }),
		collect[uuids](rows, func(r row) string { return r.OperationID }),
		collect[texts](rows, func(r row) string { return r.Order }),
		collect[binaries](rows, func(r row) []byte { return r.TokenHash[:] }),
		collect[texts](rows, func(r row) string { return string(r.Purpose) }),
		collect[booleans](rows, func(r row) bool { return r.Renewal }),
	}
}

func compareTimers(a, b coupon.Timer) int {
	return cmp.Or(a.Due.Compare(b.Due), strings.Compare(a.LeaseID, b.LeaseID), cmp.Compare(a.Version, b.Version))
}

func (tx *transaction) timerColumns(rows []coupon.Timer) []any {
	soon := tx.world.Now.Add(timerHorizon)
	return []any{
		collect[times](rows, func(t coupon.Timer) time.Time { return t.Due }),
		collect[integers](rows, func(t coupon.Timer) int64 { return t.Version }),
		collect[uuids](rows, func(t coupon.Timer) string { return t.LeaseID }),
		collect[booleans](rows, func(t coupon.Timer) bool { return t.Due.After(soon) }),
		collect[texts](rows, func(t coupon.Timer) string { return t.Coupon }),
	}
}

func compareRedemptions(a, b coupon.RedemptionRow) int {
	return cmp.Or(strings.Compare(a.Coupon, b.Coupon), cmp.Compare(a.Cycle, b.Cycle))
}

func redemptionColumns(rows []coupon.RedemptionRow) []any {
	type row = coupon.RedemptionRow
	return []any{
		collect[texts](rows, func(r row) string { return r.Coupon }),
		collect[integers](rows, func(r row) int64 { return r.Cycle }),
		collect[integers](rows, func(r row) int64 { return r.PolicyVersion }),
		collect[times](rows, func(r row) time.Time { return r.At }),
		collect[uuids](rows, func(r row) string { return r.ID }),
		collect[uuids](rows, func(r row) string { return r.LeaseID }),
		collect[uuids](rows, func(r row) string { return r.OperationID }),
		collect[texts](rows, func(r row) string { return r.Order }),
		collect[texts](rows, func(r row) string { return r.Payment }),
	}
}
