package simulate

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"couponlease/internal/coupon"
)

// leaseName is how a case names a lease: order/coupon#generation.
type leaseName struct {
	order, coupon string
	generation    int64
}

func parseLease(text string) (leaseName, error) {
	order, rest, slash := strings.Cut(text, "/")
	code, number, hash := strings.Cut(rest, "#")
	generation, err := strconv.ParseInt(number, 10, 64)
	if !slash || !hash || err != nil || generation < 1 {
		return leaseName{}, fmt.Errorf("lease %q: want order/coupon#generation", text)
	}
	return leaseName{order: order, coupon: code, generation: generation}, nil
}

// lease finds the latest evidence of a named lease. Generations count the leases
// that the order had of the coupon; a number that is beyond those is taken as
// the count over all orders. A lease that was never granted is not an error: its
// timer is stale, its token is wrong.
func (r *run) lease(ctx context.Context, name leaseName) (coupon.LeaseRow, error) {
	history, _, err := r.backend.History(ctx, r.coupon(name.coupon))
	if err != nil {
		return coupon.LeaseRow{}, err
	}
	holder, err := r.backend.Order(ctx, r.name(name.order))
	if err != nil {
		return coupon.LeaseRow{}, err
	}
	var mine []coupon.LeaseRow // the latest row of each lease that the order held
	for _, row := range history.Leases {
		if row.Order != holder.ID && row.Order != holder.Head() {
			continue
		}
		if last := len(mine) - 1; last >= 0 && mine[last].LeaseID == row.LeaseID {
			mine[last] = row
		} else {
			mine = append(mine, row)
		}
	}
	if name.generation <= int64(len(mine)) {
		return mine[name.generation-1], nil
	}
	for _, row := range mine {
		if row.Generation == name.generation {
			return row, nil
		}
	}
	return coupon.LeaseRow{Coupon: r.coupon(name.coupon), Order: holder.ID, LeaseID: neverGranted}, nil
}

// neverGranted is the id of no lease.
const neverGranted = "00000000-0000-7000-8000-000000000000"

// token gives the hash of a lease's token, as the asker presents it. Nobody has
// the token of a lease that was never granted.
func (r *run) token(ctx context.Context, name leaseName) (coupon.TokenHash, error) {
	row, err := r.lease(ctx, name)
	if err != nil {
		return coupon.TokenHash{}, err
	}
	if row.Version == 0 {
		return coupon.HashToken(fmt.Sprintf("guessed for %+v", name)), nil
	}
	return row.TokenHash, nil
}
