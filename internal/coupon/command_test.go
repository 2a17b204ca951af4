package coupon_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// told gives the answer to a command as its asker reads it: code, then what it left
// behind, and whether the token came along.
func told(outcome coupon.Outcome) string {
	a := outcome.Answer
	text := string(a.Code)
	if outcome.Status == coupon.Repeated {
		text = "again " + text
	}
	if a.Version != 0 {
		text += fmt.Sprintf(" v%d", a.Version)
	}
	if a.Token != nil {
		text += " token"
	}
	for _, refusal := range a.Refusals {
		text += fmt.Sprintf(" %s:%s", refusal.Coupon, refusal.Code)
	}
	return text
}

// tokenOf gives the hash of the token of a lease by its name, such as A/c1#1.
func tokenOf(name string) coupon.TokenHash { return coupon.HashToken("s:" + name) }

// command gives the fact of a verb that asks for a change.
func (s *stage) command(verb string, words []string, o settings) coupon.Fact {
	id := coupon.Fold(words[0])
	term := time.Duration(s.number(o, "for", 0)) * time.Second
	version := s.number(o, "version", 0)
	switch verb {
	case "lock": // COUPON ORDER
		return coupon.LockCoupon{Coupon: id, Order: words[1], Customer: o["by"], Lease: term}
	case "till": // COUPON REQUEST
		return coupon.RedeemRequested{Coupon: id, Request: words[1], Customer: o["by"], Lease: term}
	case "renew": // COUPON LEASE
		return coupon.RenewLease{
			Coupon: id, Token: tokenOf(words[1]), Version: version, Lease: term, OpenEnded: o.has("open"),
		}
	case "release": // COUPON LEASE
		return coupon.ReleaseLease{Coupon: id, Token: tokenOf(words[1]), Version: version, Reason: o["reason"]}
	case "redeem": // COUPON ORDER LEASE
		return coupon.RedeemCoupon{
			Coupon: id, Order: words[1], Token: tokenOf(words[2]), Version: version, Payment: o["payment"],
		}
	case "return": // COUPON ORDER REFUND
		return coupon.ReturnCoupon{Coupon: id, Order: words[1], Refund: words[2], Reason: o.or("reason", "agreed")}
	case "settle": // ORDER: again, from what is known of it
		return coupon.SettleOrder{Order: words[0]}
	case "settleLease": // COUPON ORDER
		return coupon.SettleLease{Coupon: words[0], Order: words[1]}
	case "report": // COUPON ORDER FAULT
		return coupon.ReportFault{Coupon: words[0], Order: words[1], Fault: coupon.Fault(words[2])}
	case "endFlow": // COUPON REQUEST
		return coupon.EndFlow{Coupon: words[0], RedeemNo: coupon.RedeemNumber(words[1])}
	case "orphan": // ORDER SECONDS that its payment may wait
		patience, err := strconv.Atoi(words[1])
		if err != nil {
			s.t.Fatalf("%s: %v", s.where, err)
		}
		return coupon.ReportOrphan{Order: words[0], Patience: time.Duration(patience) * time.Second}
	case "resolve": // REVIEW-NUMBER OUTCOME: the case counted from 1
		return s.resolve(words, o)
	case "swap": // ORDER
		return s.swap(words[0], o)
	case "void": // COUPON
		return coupon.VoidCoupon{Coupon: id, Force: o.has("force"), Reason: o["reason"]}
	case "reverse": // COUPON
		return coupon.ReverseChange{
			Coupon: id, Operation: s.operation(id, o), ExpectedVersion: version, Reason: o["reason"],
		}
	default:
		s.t.Fatalf("%s: no such step", s.where)
		return nil
	}
}

func (s *stage) swap(order string, o settings) coupon.Fact {
	f := coupon.SwapCoupons{Order: order}
	if o.has("drop") {
		f.Drop = strings.Split(o["drop"], ",")
	}
	if o.has("add") {
		for _, code := range strings.Split(o["add"], ",") {
			f.Add = append(f.Add, coupon.Wanted{Coupon: coupon.Fold(code)})
		}
	}
	return f
}

// resolve gives what a person decided about a case, by its number from 1 or a name
// that no case has.
func (s *stage) resolve(words []string, o settings) coupon.Fact {
	f := coupon.ResolveReview{
		Review: words[0], Outcome: coupon.ReviewOutcome(words[1]), Note: "seen", Code: o["code"], Template: o["template"],
	}
	reviews, err := s.ledger.Reviews(s.t.Context())
	number, notANumber := strconv.Atoi(words[0])
	if err != nil || notANumber == nil && number > len(reviews) {
		s.t.Fatalf("%s: no such case: %v", s.where, err)
	}
	if notANumber == nil {
		review := reviews[number-1]
		f.Review, f.Order, f.Coupon = review.ID, review.Order, review.Coupon
	}
	f.Order = o.or("order", f.Order)
	return f
}

// operation gives the id of the ledger row that produced the version of op=.
func (s *stage) operation(id string, o settings) string {
	if !o.has("op") {
		return ""
	}
	history, _, err := s.ledger.History(s.t.Context(), id)
	version := s.number(o, "op", 0)
	if err != nil || version > int64(len(history.Operations)) {
		s.t.Fatalf("%s: no operation of version %d: %v", s.where, version, err)
	}
	return history.Operations[version-1].ID
}
