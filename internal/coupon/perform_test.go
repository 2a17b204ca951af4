package coupon_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// perform does one step and gives the answer and what was written.
func (s *stage) perform(verb string, words []string) (string, *coupon.Changes) {
	o := read(words)
	switch verb {
	case "status": // STATUS of the template
		return "-", s.on(probe(s.coupons[0]), func(w *coupon.World) {
			coupon.SetStatus(w, "T1", coupon.TemplateStatus(words[0]))
		})
	case "begun": // COUPON REQUEST: a flow whose end was lost, of a lease that is gone
		return "-", s.begun(words[0], words[1], o)
	case "sweep": // COUPON
		outcome, changes := s.do(probe(words[0]))
		return string(outcome.Code), changes
	}
	s.steps++
	request := coupon.Request{
		ID: o.or("msg", fmt.Sprintf("m%d", s.steps)), At: s.now, Actor: "table", Fact: s.fact(verb, words, o),
	}
	if o.has("at") {
		request.At = s.second(o["at"])
	}
	request.Hash = sha256.Sum256(fmt.Appendf(nil, "%T %+v", request.Fact, request.Fact))
	if _, command := request.Fact.(coupon.Command); command {
		request.Key = o.or("key", request.ID)
		if f, till := request.Fact.(coupon.RedeemRequested); till {
			request.Key = coupon.RedeemNumber(f.Request)
		}
		request.Reply = &coupon.ReplyTo{Queue: "asker", Correlation: request.ID}
	}
	outcome, changes := s.do(request)
	if outcome.Answer != nil {
		return told(outcome), changes
	}
	if outcome.Status == coupon.Dead {
		return "dead " + string(outcome.Code), changes
	}
	return string(outcome.Code), changes
}

// begun plants the first step of a flow of the lease that redeemed the coupon, or of none
// that is known.
func (s *stage) begun(id, request string, o settings) *coupon.Changes {
	return s.on(probe(id), func(w *coupon.World) {
		flow := coupon.FlowRow{
			RedeemNo: coupon.RedeemNumber(request), Request: request, Step: coupon.FlowProcessing, Coupon: id, LeaseID: "gone",
		}
		if c := w.Coupon(id); o.has("redeemed") {
			flow.LeaseID = c.Redemption.LeaseID
		}
		w.Changes().Flows = append(w.Changes().Flows, flow)
	})
}

// probe is a request that only loads a coupon's rows.
func probe(id string) coupon.Request { return coupon.Request{Fact: coupon.ValidityOver{Coupon: id}} }

func (s *stage) fact(verb string, words []string, o settings) coupon.Fact {
	order := words[0]
	switch verb {
	case "placed": // ORDER COUPON,COUPON
		return s.placed(order, words[1], o)
	case "paid": // ORDER
		return coupon.PaymentSucceeded{
			Order: order, Parent: o["parent"], Payment: o.or("id", "pay-"+order), Amount: s.number(o, "amount", 100),
			FullPrice: o.has("fullPrice"), Currency: o["currency"],
		}
	case "closed": // ORDER REASON
		return coupon.OrderClosed{Order: order, Parent: o["parent"], Reason: words[1]}
	case "refund": // ORDER
		return coupon.RefundApproved{
			Order: order, Parent: o["parent"], Refund: o.or("id", "r-"+order), Amount: s.number(o, "amount", 100),
			Reason: o.or("reason", "customer"),
		}
	case "due": // COUPON: the timer of its last lease, or of the row of evidence given
		return s.due(words[0], int(s.number(o, "row", 0)), o)
	case "import": // CODE, or _ for a blank one
		return coupon.ImportCoupon{Code: strings.ReplaceAll(words[0], "_", " "), Template: o.or("template", "T1"), Owner: "u1"}
	default:
		return s.command(verb, words, o)
	}
}

func (s *stage) placed(order, codes string, o settings) coupon.Fact {
	f := coupon.OrderPlaced{
		Order: order, Customer: o.or("by", "u1"), Payable: s.number(o, "payable", 100), Currency: o["currency"],
		Lease: time.Duration(s.number(o, "lease", 0)) * time.Second, OpenEnded: o.has("open"),
		Supersedes: o["supersedes"], Parent: o["parent"], Revision: s.number(o, "revision", 0),
	}
	for _, code := range strings.Split(codes, ",") {
		if code == "-" {
			continue
		}
		wanted := coupon.Wanted{Coupon: coupon.Fold(code)}
		if token := o["token"]; token == "guessed" || strings.Contains(token, "/"+code+"#") {
			hash := tokenOf(token)
			wanted.Token = &hash
		}
		f.Wanted = append(f.Wanted, wanted)
	}
	return f
}

// due gives the timer that the evidence of a lease armed: that of the last row,
// or of the row counted from 1.
func (s *stage) due(id string, number int, o settings) coupon.Fact {
	history, _, err := s.ledger.History(s.t.Context(), id)
	if err != nil || len(history.Leases) < max(1, number) {
		s.t.Fatalf("%s: no such lease: %v", s.where, err)
	}
	if number == 0 {
		number = len(history.Leases)
	}
	row := history.Leases[number-1]
	f := coupon.LeaseDue{
		Coupon: id, Order: row.Order, LeaseID: row.LeaseID, TokenHash: row.TokenHash, Version: row.Version,
		PaidFact: o["fact"],
	}
	f.LeaseID = o.or("lease", f.LeaseID)
	if o.has("token") {
		f.TokenHash = coupon.HashToken(o["token"])
	}
	if o.has("version") {
		f.Version = s.number(o, "version", 0)
	}
	return f
}

// cells shows what a step wrote: coupons, ledger, events, reviews.
func (s *stage) cells(changes *coupon.Changes) []string {
	var states, ledger, events, reviews []string
	for _, id := range s.coupons {
		history, _, err := s.ledger.History(s.t.Context(), id)
		if err != nil {
			s.t.Fatal(err)
		}
		states = append(states, shown(history.Coupon))
	}
	for _, op := range changes.Operations {
		row := fmt.Sprintf("%s %s", op.Coupon, op.Operation)
		if op.Reason != "" {
			row += "(" + op.Reason + ")"
		}
		ledger = append(ledger, row)
	}
	for _, event := range changes.Events {
		name := strings.TrimPrefix(string(event.Kind), "Coupon")
		for _, refusal := range event.Refusals {
			name += fmt.Sprintf(" %s:%s", refusal.Coupon, refusal.Code)
		}
		if event.Kind == coupon.EventRefundDecided {
			name += " " + event.Decision.Decision
		}
		events = append(events, name)
	}
	for _, timer := range changes.Timers {
		name := "timer"
		if timer.Rearmed {
			name = "timer again"
		}
		events = append(events, fmt.Sprintf("%s@%.0f", name, timer.Due.Sub(s.start).Seconds()))
	}
	for _, review := range changes.Reviews {
		row := fmt.Sprintf("%s %s %s", review.Order, review.Coupon, review.Reason)
		if review.Suggestion != "" {
			row += " → " + review.Suggestion
		}
		reviews = append(reviews, strings.Join(strings.Fields(row), " "))
	}
	for _, step := range changes.Flows {
		events = append(events, strings.TrimSpace(fmt.Sprintf("flow %s %s %s%s", step.RedeemNo, step.Step, step.Code, step.Reason)))
	}
	return []string{list(states), list(ledger), list(events), list(reviews)}
}

func shown(c *coupon.Coupon) string {
	text := fmt.Sprintf("%s %s", c.ID, c.State)
	switch {
	case c.Lease != nil:
		return text + " " + c.Lease.Order
	case c.Redemption != nil:
		return text + " " + c.Redemption.Order
	default:
		return text
	}
}

func list(items []string) string { return strings.Join(items, ", ") }
