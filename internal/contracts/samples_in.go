package main

import (
	"encoding/hex"

	"couponlease/messages"
)

// The tokens of the samples open nothing.
const (
	quoteToken = "sample-quote-token-0000000000000000000000000"
	tillToken  = "sample-till-token-00000000000000000000000000"
)

func factSamples() []sample {
	no := false
	discount := eur(500)
	return []sample{
		{"minimal", messages.OrderPlaced{
			OrderID: "order-1001", CustomerID: "customer-7",
			Coupons: []messages.CouponRef{{Code: "SPRING-7F3K9"}}, Payable: eur(1999), OccurredAt: at(0),
		}},
		{"full", messages.OrderPlaced{
			OrderID: "order-1001", CustomerID: "customer-7",
			Coupons: []messages.CouponRef{
				{Code: "SPRING-7F3K9", LeaseToken: quoteToken, Discount: &discount},
				{Code: "FREESHIP-22"},
			},
			Payable: eur(1999), Lease: messages.LeaseFor(900), QuoteID: "quote-55", Supersedes: "order-1000",
			ParentOrderID: "basket-31", Revision: 2, OccurredAt: at(0.25),
		}},
		{"open-ended", messages.OrderPlaced{
			OrderID: "order-1002", CustomerID: "customer-7",
			Coupons: []messages.CouponRef{{Code: "SPRING-7F3K9"}}, Payable: eur(1999),
			Lease: messages.OpenLease(), OccurredAt: at(0),
		}},
		{"no-coupons", messages.OrderPlaced{
			OrderID: "order-1003", CustomerID: "customer-8", Payable: eur(0), OccurredAt: at(0),
		}},
		{"minimal", messages.PaymentSucceeded{OrderID: "order-1001", PaymentID: "payment-1", Amount: eur(1999)}},
		{"full", messages.PaymentSucceeded{
			OrderID: "order-1001", PaymentID: "payment-1", Amount: eur(1999), Discounted: &no,
			ParentOrderID: "basket-31", OccurredAt: at(42.5),
		}},
		{"minimal", messages.OrderClosed{OrderID: "order-1001", Reason: "cancelled"}},
		{"full", messages.OrderClosed{
			OrderID: "order-1001", Reason: "payment_failed", ParentOrderID: "basket-31", OccurredAt: at(60),
		}},
		{"minimal", messages.RefundApproved{
			OrderID: "order-1001", RefundID: "refund-1", Amount: eur(1999), Reason: "customer",
		}},
		{"full", messages.RefundApproved{
			OrderID: "order-1001", RefundID: "refund-1", Amount: eur(500), Reason: "chargeback",
			ParentOrderID: "basket-31", OccurredAt: at(86_400),
		}},
		{"", messages.LeaseExpired{Leases: []messages.LeaseDue{
			{
				LeaseID: uuid(1), CouponID: "spring-7f3k9", OrderID: "order-1001",
				TokenHash: hashOf(quoteToken), Version: 2, Deadline: at(900),
			},
			{
				LeaseID: uuid(2), CouponID: "freeship-22", OrderID: "order-1001",
				TokenHash: hashOf(tillToken), Version: 8, Deadline: at(900.75),
			},
		}}},
	}
}

func hashOf(token messages.Token) string {
	sum := token.Hash()
	return hex.EncodeToString(sum[:])
}

func head(key string) messages.CommandHead {
	return messages.CommandHead{IdempotencyKey: key, OccurredAt: at(1)}
}

func commandSamples() []sample {
	return []sample{
		{"", messages.LockCoupon{
			CommandHead: head("till-9-receipt-204-lock"), Code: "SPRING-7F3K9", OrderID: "receipt-204",
			CustomerID: "customer-7", Purpose: "TILL", LeaseToken: tillToken, Lease: messages.LeaseFor(120),
		}},
		{"", messages.RenewLease{
			CommandHead: head("till-9-receipt-204-renew-1"), Code: "SPRING-7F3K9",
			LeaseToken: tillToken, Lease: messages.LeaseFor(120),
		}},
		{"", messages.ReleaseLease{
			CommandHead: head("till-9-receipt-204-release"), Code: "SPRING-7F3K9",
			LeaseToken: tillToken, Reason: "receipt_cancelled",
		}},
		{"", messages.RedeemCoupon{
			CommandHead: head("till-9-receipt-204-redeem"), Code: "SPRING-7F3K9", OrderID: "receipt-204",
			LeaseToken: tillToken, PaymentID: "cash-204",
		}},
		{"", messages.ClaimCoupon{
			CommandHead: head("app-claim-77"), TemplateID: "spring-sale", BatchID: "wave-1", CustomerID: "customer-7",
		}},
	}
}

func operatorSamples() []sample {
	return []sample{
		{"", messages.ReturnCoupon{
			CommandHead: head("desk-return-5"), Code: "SPRING-7F3K9", OrderID: "receipt-204",
			RefundID: "refund-204", Reason: "goods_faulty", Actor: "desk:clerk-4",
		}},
		{"", messages.VoidCoupon{
			CommandHead: head("desk-void-6"), Code: "SPRING-7F3K9", Force: true, Reason: "leaked", Actor: "desk:clerk-4",
		}},
		{"", messages.ReverseChange{
			CommandHead: head("desk-reverse-7"), Code: "SPRING-7F3K9", OperationID: uuid(13),
			ExpectedVersion: 4, Reason: "wrong_customer", Actor: "desk:clerk-4",
		}},
		{"", messages.IssueCoupons{
			CommandHead: head("import-2026-03-01"), TemplateID: "spring-sale", BatchID: "wave-1",
			Coupons: []messages.IssueItem{
				{Code: "SPRING-7F3K9", CustomerID: "customer-7", ValidFrom: at(0), ValidUntil: at(30 * 86_400)},
				{Code: "SPRING-8Q2LM"},
			},
			Actor: "campaigns",
		}},
		{"", messages.CommandReply{
			Change:  change(2, 11, 1),
			Command: messages.TypeLockCoupon, IdempotencyKey: "till-9-receipt-204-lock",
			Outcome: "OK", State: "LOCKED", Deadline: at(121),
		}},
		{"refused", messages.CommandReply{
			Change: messages.Change{
				CouponID: "spring-7f3k9", OrderID: "receipt-204", CausationID: "msg-020", OccurredAt: at(1.5),
			},
			Command: messages.TypeLockCoupon, IdempotencyKey: "till-9-receipt-204-lock",
			Outcome: "ALREADY_LOCKED", PublicCode: messages.PublicCode("ALREADY_LOCKED"),
		}},
	}
}
