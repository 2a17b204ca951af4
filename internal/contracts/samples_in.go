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
	discount := eur(300)
	return []sample{
		{"", messages.LockCoupon{
			CommandHead: head("checkout-quote-55-lock"), Code: "SPRING-7F3K9", OrderID: "quote-55",
			CustomerID: "customer-7", Lease: messages.LeaseFor(120),
		}},
		{"", messages.RenewLease{
			CommandHead: head("checkout-quote-55-renew-1"), Code: "SPRING-7F3K9",
			LeaseToken: quoteToken, LeaseVersion: 2, Lease: messages.LeaseFor(120),
		}},
		{"", messages.ReleaseLease{
			CommandHead: head("till-9-receipt-204-release"), Code: "SPRING-7F3K9",
			LeaseToken: tillToken, LeaseVersion: 2, Reason: "receipt_cancelled",
		}},
		{"", messages.RedeemRequested{
			RequestID: "till-9-receipt-204", Code: "SPRING-7F3K9", CustomerID: "customer-7",
			Lease: messages.LeaseFor(60), OccurredAt: at(1),
		}},
		{"", messages.RedeemCoupon{
			CommandHead: head("till-9-receipt-204-redeem"), Code: "SPRING-7F3K9",
			OrderID: messages.RedeemNumber("till-9-receipt-204"), LeaseToken: tillToken, LeaseVersion: 2,
			PaymentID: "cash-204",
		}},
		{"", messages.SwapCoupons{
			CommandHead: head("checkout-order-1001-swap-1"), OrderID: "order-1001",
			Drop:  []string{"SPRING-7F3K9"},
			Add:   []messages.SwapItem{{Code: "FREESHIP-22", Discount: &discount}, {Code: "SPRING-8Q2LM"}},
			Lease: messages.LeaseFor(900),
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
				{CustomerID: "customer-8"},
			},
			Actor: "campaigns",
		}},
	}
}

func replySamples() []sample {
	quoted := change(2, 11, 1)
	quoted.OrderID = "quote-55"
	tillRequest := change(2, 11, 1)
	tillRequest.OrderID = messages.RedeemNumber("till-9-receipt-204")
	return []sample{
		{"", messages.CommandReply{
			Change:  quoted,
			Command: messages.TypeLockCoupon, IdempotencyKey: "checkout-quote-55-lock",
			Outcome: messages.OutcomeOK, State: "LOCKED", Deadline: at(121), LeaseToken: quoteToken,
		}},
		{"till", messages.CommandReply{
			Change:  tillRequest,
			Command: messages.TypeRedeemRequested, IdempotencyKey: tillRequest.OrderID,
			Outcome: messages.OutcomeOK, State: "LOCKED", Deadline: at(61),
			RedeemNo: tillRequest.OrderID, LeaseToken: tillToken,
		}},
		{"refused", messages.CommandReply{
			Change: messages.Change{
				CouponID: "spring-7f3k9", OrderID: "quote-55", CausationID: "msg-020", OccurredAt: at(1.5),
			},
			Command: messages.TypeLockCoupon, IdempotencyKey: "checkout-quote-55-lock",
			Outcome: "ALREADY_LOCKED", PublicCode: messages.PublicCode("ALREADY_LOCKED"),
		}},
		{"swap-refused", messages.CommandReply{
			Change:  messages.Change{OrderID: "order-1001", CausationID: "msg-021", OccurredAt: at(1.5)},
			Command: messages.TypeSwapCoupons, IdempotencyKey: "checkout-order-1001-swap-1",
			Outcome: "REJECTED", PublicCode: messages.PublicCode("REJECTED"),
			Refusals: []messages.Rejection{
				{CouponID: "freeship-22", Code: "ALREADY_USED", PublicCode: messages.PublicCode("ALREADY_USED")},
			},
		}},
	}
}
