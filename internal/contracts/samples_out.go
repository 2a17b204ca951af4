package main

import "couponlease/messages"

// change is what the samples' events share: the coupon of the story, at a
// version, after the operation and under the lease of these numbers.
func change(version int64, operation, lease int) messages.Change {
	return messages.Change{
		CouponID: "spring-7f3k9", OrderID: "order-1001", StateVersion: version,
		OperationID: uuid(operation), LeaseID: uuid(lease), CausationID: "msg-001", OccurredAt: at(0.123456),
	}
}

// withoutLease is change for what concerns no lease and, if operation is 0, no
// operation either.
func withoutLease(version int64, operation int) messages.Change {
	c := change(version, operation, 0)
	c.LeaseID = ""
	if operation == 0 {
		c.OperationID = ""
	}
	return c
}

func leaseEvents() []sample {
	return []sample{
		{"", messages.CouponLocked{
			Change: change(2, 11, 1), State: "LOCKED", Purpose: "ORDER", Deadline: at(900),
		}},
		{"recovered", messages.CouponLocked{
			Change: change(4, 13, 2), State: "LOCKED", Purpose: "ORDER", Deadline: at(1800), Reason: "RECOVER",
		}},
		{"", messages.CouponLockRejected{
			Change: messages.Change{OrderID: "order-1002", CausationID: "msg-003", OccurredAt: at(2)},
			Reasons: []messages.Rejection{
				{CouponID: "spring-7f3k9", Code: "ALREADY_LOCKED", PublicCode: messages.PublicCode("ALREADY_LOCKED")},
				{CouponID: "freeship-22", Code: "STACKING_ALL", PublicCode: messages.PublicCode("STACKING_ALL")},
			},
		}},
		{"", messages.CouponLeaseRenewed{
			Change: change(3, 12, 1), State: "LOCKED", Deadline: at(1800), Reason: "BIND_ORDER",
		}},
		{"", messages.CouponRedeemed{
			Change: change(3, 12, 1), State: "USED", RedemptionID: uuid(21), PaymentID: "payment-1",
			Flags: []string{"AFTER_LEASE_DEADLINE"}, PolicyVersion: 1,
		}},
		{"", messages.CouponReleased{Change: change(3, 12, 1), State: "AVAILABLE", Reason: "LEASE_EXPIRED"}},
		{"", messages.CouponExpired{Change: withoutLease(4, 13), State: "EXPIRED", Reason: "VALIDITY_OVER"}},
	}
}

func refundEvents() []sample {
	decision := func(text string, refunded int64) messages.RefundDecision {
		return messages.RefundDecision{
			RefundID: "refund-1", RedemptionID: uuid(21), Decision: text, PolicyVersion: 1,
			Refunded: eur(refunded), Paid: eur(1999), Payable: eur(1999),
		}
	}
	return []sample{
		{"", messages.CouponReturned{
			Change: withoutLease(4, 13), State: "AVAILABLE", RefundID: "refund-1", Reason: "RETURN:FULL",
			RedemptionID: uuid(21), PolicyVersion: 1, ValidUntil: at(30 * 86_400),
		}},
		{"", messages.CouponRetired{
			Change: withoutLease(4, 13), State: "REFUNDED", RefundID: "refund-1", Reason: "RETIRE:FULL",
			RedemptionID: uuid(21), PolicyVersion: 1, ReissuedAs: "spring-9zz41",
		}},
		{"", messages.CouponReturnDeclined{
			Change: withoutLease(3, 0), RefundDecision: decision("KEEP:PARTIAL", 500),
		}},
		{"", messages.RefundCouponDecided{
			Change: withoutLease(4, 13), RefundDecision: decision("RETURN:FULL", 1999),
		}},
		{"", messages.CouponVoided{Change: change(3, 12, 1), State: "VOID", Reason: "leaked"}},
		{"", messages.RedemptionReversed{
			Change: withoutLease(4, 13), State: "AVAILABLE", Reason: "wrong_customer",
			OriginalOperationID: uuid(12), RedemptionID: uuid(21),
		}},
	}
}

func walletEvents() []sample {
	issued := withoutLease(1, 10)
	issued.OrderID = ""
	off, least := eur(500), eur(2000)
	return []sample{
		{"", messages.CouponIssued{
			Change: issued, State: "AVAILABLE", TemplateID: "spring-sale", BatchID: "wave-1",
			CustomerID: "customer-7", ValidFrom: at(0), ValidUntil: at(30 * 86_400), PolicyVersion: 1, TemplateVersion: 1,
			Discount: &messages.Discount{Kind: "AMOUNT_OFF", Amount: &off, MinSpend: &least},
		}},
		{"", messages.CouponClaimRejected{
			Change:     messages.Change{CausationID: "msg-018", OccurredAt: at(3)},
			TemplateID: "spring-sale", BatchID: "wave-1", CustomerID: "customer-7",
			Reason: messages.PublicClaimReason("QUOTA_EXHAUSTED"),
		}},
		{"", messages.CampaignSoldOut{
			Change:     messages.Change{CausationID: "msg-019", OccurredAt: at(4)},
			TemplateID: "spring-sale", Total: 10_000, Generation: 1,
		}},
		{"", messages.CouponConflictDetected{
			Change: withoutLease(4, 0), Code: "LATE_PAYMENT_ON_CLOSED_ORDER", PaymentID: "payment-1",
		}},
		{"", messages.ReviewOpened{
			Change: withoutLease(4, 0), ReviewID: uuid(31),
			Reason: "LATE_PAYMENT_ON_CLOSED_ORDER", Suggestion: "REFUND_PAYMENT",
		}},
		{"", messages.ReviewResolved{
			Change: withoutLease(4, 0), ReviewID: uuid(31),
			Reason: "LATE_PAYMENT_ON_CLOSED_ORDER", Outcome: "REFUND", Actor: "desk:clerk-4",
		}},
	}
}
