package messages

import (
	"strconv"
	"strings"
)

// Exchanges. The commerce exchange belongs to the upstream services; the other
// two are ours. All are topic exchanges, and the routing key is the type.
const (
	ExchangeCommerce = "commerce"
	ExchangeCommands = "coupon.commands"
	ExchangeEvents   = "coupon.events"
)

// Types of the messages that come in.
const (
	TypeOrderPlaced      = "order.placed.v1"
	TypePaymentSucceeded = "payment.succeeded.v1"
	TypeOrderClosed      = "order.closed.v1"
	TypeRefundApproved   = "refund.approved.v1"

	TypeLeaseExpired = "coupon.lease_expired.v1"

	TypeLockCoupon    = "coupon.lock.v1"
	TypeRenewLease    = "coupon.renew.v1"
	TypeReleaseLease  = "coupon.release.v1"
	TypeRedeemCoupon  = "coupon.redeem.v1"
	TypeSwapCoupons   = "coupon.swap.v1"
	TypeReturnCoupon  = "coupon.return.v1"
	TypeVoidCoupon    = "coupon.void.v1"
	TypeReverseChange = "coupon.reverse.v1"
	TypeClaimCoupon   = "coupon.claim.v1"
	TypeIssueCoupons  = "coupon.issue.v1"

	TypeRedeemRequested = "coupon.redeem_requested.v1"
)

// Types of the messages that go out.
const (
	TypeCouponLocked           = "coupon.locked.v1"
	TypeCouponLockRejected     = "coupon.lock_rejected.v1"
	TypeCouponLeaseRenewed     = "coupon.lease_renewed.v1"
	TypeCouponRedeemed         = "coupon.redeemed.v1"
	TypeCouponReleased         = "coupon.released.v1"
	TypeCouponExpired          = "coupon.expired.v1"
	TypeCouponReturned         = "coupon.returned.v1"
	TypeCouponRetired          = "coupon.retired.v1"
	TypeCouponReturnDeclined   = "coupon.return_declined.v1"
	TypeRefundCouponDecided    = "coupon.refund_decided.v1"
	TypeCouponVoided           = "coupon.voided.v1"
	TypeRedemptionReversed     = "coupon.redemption_reversed.v1"
	TypeCouponIssued           = "coupon.issued.v1"
	TypeCouponClaimRejected    = "coupon.claim_rejected.v1"
	TypeCampaignSoldOut        = "coupon.sold_out.v1"
	TypeCouponConflictDetected = "coupon.conflict_detected.v1"
	TypeReviewOpened           = "coupon.review_opened.v1"
	TypeReviewResolved         = "coupon.review_resolved.v1"

	TypeCommandReply = "coupon.reply.v1"
)

// Kind says what a message is for and which way it goes.
type Kind string

// The kinds of messages.
const (
	KindFact    Kind = "fact"    // in: something happened upstream
	KindCommand Kind = "command" // in: one change is asked for
	KindTimer   Kind = "timer"   // out and in again: leases are due
	KindEvent   Kind = "event"   // out: something happened to a coupon
	KindReply   Kind = "reply"   // out: the answer to a command
)

// Incoming reports whether this side consumes messages of the kind.
func (k Kind) Incoming() bool { return k == KindFact || k == KindCommand || k == KindTimer }

// Contract is one message type.
type Contract struct {
	// Type is the full type, and the routing key.
	Type string
	// Name is the short name, such as CouponLocked for coupon.locked.v1.
	Name string
	Kind Kind
	// Exchange is where the message is published. It is empty for the timer,
	// which goes through the delay levels, and for replies, which go straight
	// to the queue that the command names in reply-to.
	Exchange string
	// Queue is the work queue it is consumed from; empty for what goes out.
	Queue string
}

var contracts = [...]Contract{
	{TypeOrderPlaced, "OrderPlaced", KindFact, ExchangeCommerce, "coupon-order-placed"},
	{TypePaymentSucceeded, "PaymentSucceeded", KindFact, ExchangeCommerce, "coupon-payment-succeeded"},
	{TypeOrderClosed, "OrderClosed", KindFact, ExchangeCommerce, "coupon-order-closed"},
	{TypeRefundApproved, "RefundApproved", KindFact, ExchangeCommerce, "coupon-refund-approved"},

	{TypeLeaseExpired, "LeaseExpired", KindTimer, "", "coupon-lease-expired"},

	{TypeLockCoupon, "LockCoupon", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeRenewLease, "RenewLease", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeReleaseLease, "ReleaseLease", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeRedeemCoupon, "RedeemCoupon", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeRedeemRequested, "RedeemRequested", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeSwapCoupons, "SwapCoupons", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeReturnCoupon, "ReturnCoupon", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeVoidCoupon, "VoidCoupon", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeReverseChange, "ReverseChange", KindCommand, ExchangeCommands, "coupon-commands"},
	{TypeClaimCoupon, "ClaimCoupon", KindCommand, ExchangeCommands, "coupon-claims"},
	{TypeIssueCoupons, "IssueCoupons", KindCommand, ExchangeCommands, "coupon-claims"},

	{TypeCouponLocked, "CouponLocked", KindEvent, ExchangeEvents, ""},
	{TypeCouponLockRejected, "CouponLockRejected", KindEvent, ExchangeEvents, ""},
	{TypeCouponLeaseRenewed, "CouponLeaseRenewed", KindEvent, ExchangeEvents, ""},
	{TypeCouponRedeemed, "CouponRedeemed", KindEvent, ExchangeEvents, ""},
	{TypeCouponReleased, "CouponReleased", KindEvent, ExchangeEvents, ""},
	{TypeCouponExpired, "CouponExpired", KindEvent, ExchangeEvents, ""},
	{TypeCouponReturned, "CouponReturned", KindEvent, ExchangeEvents, ""},
	{TypeCouponRetired, "CouponRetired", KindEvent, ExchangeEvents, ""},
	{TypeCouponReturnDeclined, "CouponReturnDeclined", KindEvent, ExchangeEvents, ""},
	{TypeRefundCouponDecided, "RefundCouponDecided", KindEvent, ExchangeEvents, ""},
	{TypeCouponVoided, "CouponVoided", KindEvent, ExchangeEvents, ""},
	{TypeRedemptionReversed, "RedemptionReversed", KindEvent, ExchangeEvents, ""},
	{TypeCouponIssued, "CouponIssued", KindEvent, ExchangeEvents, ""},
	{TypeCouponClaimRejected, "CouponClaimRejected", KindEvent, ExchangeEvents, ""},
	{TypeCampaignSoldOut, "CampaignSoldOut", KindEvent, ExchangeEvents, ""},
	{TypeCouponConflictDetected, "CouponConflictDetected", KindEvent, ExchangeEvents, ""},
	{TypeReviewOpened, "ReviewOpened", KindEvent, ExchangeEvents, ""},
	{TypeReviewResolved, "ReviewResolved", KindEvent, ExchangeEvents, ""},

	{TypeCommandReply, "CommandReply", KindReply, "", ""},
}

// Contracts lists every message type, in the order of the documentation.
func Contracts() []Contract { return append([]Contract(nil), contracts[:]...) }

// ContractOf finds a contract by its full type.
func ContractOf(messageType string) (Contract, bool) {
	for i := range contracts {
		if contracts[i].Type == messageType {
			return contracts[i], true
		}
	}
	return Contract{}, false
}

// TypeOf gives the full type for a short name: CouponLocked is coupon.locked.v1.
func TypeOf(name string) (messageType string, ok bool) {
	for i := range contracts {
		if contracts[i].Name == name {
			return contracts[i].Type, true
		}
	}
	return "", false
}

// NameOf gives the short name for a full type: coupon.locked.v1 is CouponLocked.
func NameOf(messageType string) (name string, ok bool) {
	c, ok := ContractOf(messageType)
	return c.Name, ok
}

// splitVersion cuts a type into its name and version: order.placed.v1 is
// order.placed and 1. A type without a version has version 0.
func splitVersion(messageType string) (name string, version int) {
	dot := strings.LastIndexByte(messageType, '.')
	if dot < 0 || !strings.HasPrefix(messageType[dot+1:], "v") {
		return messageType, 0
	}
	digits := messageType[dot+2:]
	version, err := strconv.Atoi(digits)
	if err != nil || version < 1 || digits[0] < '1' || digits[0] > '9' {
		return messageType, 0
	}
	return messageType[:dot], version
}

// admit finds the contract of a message that wants to come in.
func admit(messageType string, wanted func(Kind) bool) (Contract, int, *Malformed) {
	name, version := splitVersion(messageType)
	if c, ok := ContractOf(messageType); ok && wanted(c.Kind) {
		return c, version, nil
	}
	for i := range contracts {
		known, _ := splitVersion(contracts[i].Type)
		if version > 0 && known == name && wanted(contracts[i].Kind) {
			return Contract{}, 0, malformed(SchemaUnknown, "this version of "+contracts[i].Name+" is not known")
		}
	}
	return Contract{}, 0, malformed(TypeUnknown, "no message type that is consumed here")
}
