package handlers

import (
	"fmt"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// Event translates what the core announces to the message that tells it.
func Event(e *coupon.Event) messages.Message {
	change := messages.Change{
		CouponID: e.Coupon, OrderID: e.Order, StateVersion: e.Version,
		LeaseID: e.LeaseID, CausationID: e.Cause, OccurredAt: e.At,
	}
	if e.Operation == nil {
		return notice(e, change)
	}
	change.OperationID, change.StateVersion = e.Operation.ID, e.Operation.To
	return operation(e, change)
}

// operation translates the event of a ledger row.
func operation(e *coupon.Event, change messages.Change) messages.Message {
	op, state := e.Operation, string(e.Operation.ToState)
	switch e.Kind {
	case coupon.EventIssued:
		return messages.CouponIssued{
			Change: change, State: state, TemplateID: e.Template, BatchID: e.Batch,
			ValidFrom: e.ValidFrom, ValidUntil: e.ValidUntil, PolicyVersion: op.PolicyVersion,
			CustomerID: e.Customer, TemplateVersion: e.TemplateVersion, Discount: discount(e.Discount),
		}
	case coupon.EventLocked:
		return messages.CouponLocked{
			Change: change, State: state, Purpose: string(e.Lease.Purpose),
			Deadline: e.Lease.Deadline, Reason: op.Reason,
		}
	case coupon.EventLeaseRenewed:
		return messages.CouponLeaseRenewed{
			Change: change, State: state, Deadline: e.Lease.Deadline, Reason: op.Reason,
		}
	case coupon.EventRedeemed:
		return redeemed(op, change)
	case coupon.EventReleased:
		return messages.CouponReleased{Change: change, State: state, Reason: op.Reason}
	case coupon.EventExpired:
		return messages.CouponExpired{Change: change, State: state, Reason: op.Reason}
	case coupon.EventReturned:
		return messages.CouponReturned{
			Change: change, State: state, RefundID: op.Refund, Reason: op.Reason,
			RedemptionID: op.RedemptionID, PolicyVersion: op.PolicyVersion, ValidUntil: e.ValidUntil,
		}
	case coupon.EventRetired:
		return messages.CouponRetired{
			Change: change, State: state, RefundID: op.Refund, Reason: op.Reason,
			RedemptionID: op.RedemptionID, PolicyVersion: op.PolicyVersion,
		}
	case coupon.EventVoided:
		return messages.CouponVoided{
			Change: change, State: state, Reason: op.Reason, OriginalOperationID: op.Original,
		}
	case coupon.EventReversed:
		return messages.RedemptionReversed{
			Change: change, State: state, Reason: op.Reason, OriginalOperationID: op.Original,
			RedemptionID: op.RedemptionID,
		}
	default:
		panic(fmt.Sprintf("event %s of an operation has no message", e.Kind))
	}
}

func redeemed(op *coupon.OperationRow, change messages.Change) messages.Message {
	m := messages.CouponRedeemed{
		Change: change, State: string(op.ToState), RedemptionID: op.RedemptionID,
		PaymentID: op.Payment, Reason: op.Reason, PolicyVersion: op.PolicyVersion,
	}
	if op.Reason == coupon.ReasonAfterLeaseDeadline {
		m.Reason, m.Flags = "", []string{op.Reason}
	}
	return m
}

// notice translates an event that no ledger row stands behind.
func notice(e *coupon.Event, change messages.Change) messages.Message {
	switch e.Kind {
	case coupon.EventLockRejected:
		return messages.CouponLockRejected{Change: change, Reasons: rejections(e.Refusals)}
	case coupon.EventClaimRejected:
		return messages.CouponClaimRejected{
			Change: change, TemplateID: e.Template, BatchID: e.Batch, CustomerID: e.Customer,
			Reason: messages.PublicClaimReason(string(e.Refused)),
		}
	case coupon.EventSoldOut:
		return messages.CampaignSoldOut{
			Change: change, TemplateID: e.Template, Total: e.Total, Generation: e.Generation,
		}
	case coupon.EventConflictDetected:
		return messages.CouponConflictDetected{Change: change, Code: string(e.Code)}
	case coupon.EventReviewOpened:
		return messages.ReviewOpened{
			Change: change, ReviewID: e.Review.ID, Reason: string(e.Review.Reason),
			Suggestion: e.Review.Suggestion,
		}
	case coupon.EventReviewResolved:
		return messages.ReviewResolved{
			Change: change, ReviewID: e.Review.ID, Reason: string(e.Review.Reason),
			Outcome: string(e.Resolution.Outcome), Actor: e.Resolution.Actor,
		}
	case coupon.EventReturnDeclined:
		return messages.CouponReturnDeclined{Change: change, RefundDecision: decision(e)}
	case coupon.EventRefundDecided:
		return messages.RefundCouponDecided{Change: change, RefundDecision: decision(e)}
	default:
		panic(fmt.Sprintf("event %s has no message", e.Kind))
	}
}

func discount(d *coupon.Discount) *messages.Discount {
	if d == nil {
		return nil
	}
	sum := func(amount int64) *messages.Money {
		if amount == 0 {
			return nil
		}
		return &messages.Money{Amount: amount, Currency: d.Currency}
	}
	return &messages.Discount{
		Kind: string(d.Kind), Amount: sum(d.Amount), BasisPoints: d.BasisPoints, MinSpend: sum(d.MinSpend),
	}
}

func rejections(refusals []coupon.Refusal) []messages.Rejection {
	var list []messages.Rejection
	for _, refusal := range refusals {
		list = append(list, messages.Rejection{
			CouponID: refusal.Coupon, Code: string(refusal.Code),
			PublicCode: messages.PublicCode(string(refusal.Code)),
		})
	}
	return list
}

func decision(e *coupon.Event) messages.RefundDecision {
	d := e.Decision
	money := func(amount int64) messages.Money {
		return messages.Money{Amount: amount, Currency: e.Currency}
	}
	return messages.RefundDecision{
		RefundID: d.Refund, RedemptionID: d.RedemptionID, Decision: d.Decision,
		PolicyVersion: d.PolicyVersion,
		Refunded:      money(d.Refunded), Paid: money(d.Paid), Payable: money(d.Payable),
	}
}
