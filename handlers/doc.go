// Package handlers is the table of contents of the product: one file per message
// that comes in, from bytes to what the engine is asked, and one for what goes
// out. It translates and decides nothing; it knows no clock, no database and no
// broker.
package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// Translate turns one message into what the engine is asked, in order. Its error
// is a *messages.Malformed.
type Translate func(messages.Envelope) ([]coupon.Request, error)

// Table names the translation of every message type that is understood.
func Table() map[string]Translate {
	return map[string]Translate{
		messages.TypeOrderPlaced:      OrderPlaced,
		messages.TypePaymentSucceeded: PaymentSucceeded,
		messages.TypeOrderClosed:      OrderClosed,
		messages.TypeRefundApproved:   RefundApproved,
		messages.TypeLeaseExpired:     LeaseExpired,
		messages.TypeLockCoupon:       LockCoupon,
		messages.TypeRedeemRequested:  RedeemRequested,
		messages.TypeRenewLease:       RenewLease,
		messages.TypeReleaseLease:     ReleaseLease,
		messages.TypeRedeemCoupon:     RedeemCoupon,
		messages.TypeSwapCoupons:      SwapCoupons,
		messages.TypeReturnCoupon:     ReturnCoupon,
		messages.TypeVoidCoupon:       VoidCoupon,
		messages.TypeReverseChange:    ReverseChange,
		messages.TypeClaimCoupon:      ClaimCoupon,
		messages.TypeIssueCoupons:     IssueCoupons,
	}
}

// request gives what every request takes from its message.
func request(e messages.Envelope, fact coupon.Fact) coupon.Request {
	return coupon.Request{
		ID: e.ID, Hash: e.Hash, At: e.Time, Trace: e.TraceParent, Actor: e.Source, Fact: fact,
	}
}
