package dealertest

import (
	"fmt"

	"couponlease/internal/coupon"
)

// command makes up a command. Half of those that show a lease show the right one, so
// that something happens.
func (d *Dealer) command() coupon.Fact {
	id := d.code()
	switch pick(d.chance, "command kind", 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6, 7, 7, 7, 8, 9, 10, 10, 10) {
	case 0:
		return coupon.LockCoupon{Coupon: id, Order: d.asker(), Customer: d.customer(), Lease: d.term()}
	case 1:
		return coupon.RedeemRequested{Coupon: id, Request: d.number("t"), Customer: d.customer(), Lease: d.term()}
	case 2:
		s := d.shown(id)
		return coupon.RenewLease{
			Coupon: id, Token: s.token, Version: s.version, Lease: d.term(), OpenEnded: oneIn(d.chance, 8, "open"),
		}
	case 3:
		s := d.shown(id)
		return coupon.ReleaseLease{Coupon: id, Token: s.token, Version: s.version}
	case 4:
		s := d.shown(id)
		return coupon.RedeemCoupon{
			Coupon: id, Token: s.token, Version: s.version, Payment: pick(d.chance, "payment", "", "p1", "receipt"),
			Order: pick(d.chance, "whose", s.order, s.order, s.order, d.asker()),
		}
	case 5:
		return d.swap()
	case 6:
		return coupon.VoidCoupon{Coupon: id, Force: oneIn(d.chance, 2, "force")}
	case 7:
		return d.reversal(id)
	case 9:
		return d.repair(id)
	case 10:
		return d.campaign()
	default:
		order, _ := d.order()
		if c := d.sight(id).Coupon; c != nil && c.Redemption != nil && oneIn(d.chance, 2, "whose") {
			order = c.Redemption.Order
		}
		return coupon.ReturnCoupon{Coupon: id, Order: order, Refund: fmt.Sprint("r", 1+d.chance.Below(3, "number"))}
	}
}

// repair is what reconciliation may ask, for a reason or for none.
func (d *Dealer) repair(id string) coupon.Fact {
	order, _ := d.order()
	switch pick(d.chance, "repair kind", 0, 1, 2) {
	case 0:
		return coupon.SettleOrder{Order: order}
	case 1:
		return coupon.SettleLease{Coupon: id, Order: d.shown(id).order}
	default:
		return coupon.ReportOrphan{Order: order, Patience: d.term()}
	}
}

// asker is an order that is placed sooner or later, or one that never is.
func (d *Dealer) asker() string { return d.name(pick(d.chance, "asker", "A", "B", "C", "Q1", "Q2")) }

func (d *Dealer) customer() string { return pick(d.chance, "customer", "u1", "u1", "", "u2") }

// shown is what somebody shows of a lease.
type shown struct {
	token   coupon.TokenHash
	version int64
	order   string
}

// shown shows the latest lease of a coupon, an older one, that of another coupon, or
// one that was guessed; of any version or of a version that it has or had.
func (d *Dealer) shown(id string) shown {
	rows := d.sight(id).Leases
	kind := d.chance.Below(10, "token")
	if kind == 8 {
		rows = d.sight(d.code()).Leases
	}
	if kind == 9 || len(rows) == 0 {
		return shown{
			token:   coupon.HashToken(d.number("guess")),
			version: int64(d.chance.Below(3, "version")), order: d.asker(),
		}
	}
	row := &rows[len(rows)-1]
	if kind >= 6 {
		row = &rows[d.chance.Below(len(rows), "older")]
	}
	return shown{
		token: row.TokenHash, order: row.Order,
		version: pick(d.chance, "version", 0, row.Version, row.Version, row.Version-1, row.AcquiredAt),
	}
}

func (d *Dealer) swap() coupon.Fact {
	order, _ := d.order()
	f := coupon.SwapCoupons{Order: order, Lease: d.term()}
	for range d.chance.Below(3, "drops") {
		f.Drop = append(f.Drop, d.code())
	}
	for range d.chance.Below(3, "adds") {
		f.Add = append(f.Add, coupon.Wanted{Coupon: d.code()})
	}
	return f
}

// reversal takes back what holds, or what once did, or what never was; at any version,
// or at one that the coupon has or had.
func (d *Dealer) reversal(id string) coupon.Fact {
	f := coupon.ReverseChange{Coupon: id}
	history := d.sight(id)
	if history.Coupon == nil {
		return f
	}
	rows := history.Operations
	switch d.chance.Below(6, "operation") {
	case 0, 1:
		f.Operation = rows[len(rows)-1].ID
	case 2:
		f.Operation = rows[d.chance.Below(len(rows), "older")].ID
	case 3:
		f.Operation = neverGranted
	}
	f.ExpectedVersion = pick(d.chance, "version", 0, 0, history.Coupon.Version, history.Coupon.Version-1)
	return f
}
