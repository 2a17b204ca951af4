package coupon

import (
	"fmt"
	"time"

	"couponlease/internal/policy"
)

// ReviewOutcome is what a person decided about a case.
type ReviewOutcome string

const (
	// OutcomeRefund: the money goes back; the payment service does it.
	OutcomeRefund ReviewOutcome = "REFUND"
	// OutcomeReprice: the buyer pays the difference.
	OutcomeReprice ReviewOutcome = "REPRICE"
	// OutcomeHonour: the order keeps its discount, and the merchant pays for it.
	OutcomeHonour ReviewOutcome = "HONOUR_AT_MERCHANT_COST"
	// OutcomeGoodwill: the buyer gets another coupon.
	OutcomeGoodwill ReviewOutcome = "GOODWILL_COUPON"
	// OutcomeReturn: the order gives its coupon back.
	OutcomeReturn ReviewOutcome = "RETURN"
	// OutcomeKeep: the order keeps its coupon.
	OutcomeKeep ReviewOutcome = "KEEP"
	// OutcomeDismiss: there was nothing to decide.
	OutcomeDismiss ReviewOutcome = "DISMISS"
)

// ReviewOutcomes lists every outcome.
func ReviewOutcomes() []ReviewOutcome {
	return []ReviewOutcome{
		OutcomeRefund, OutcomeReprice, OutcomeHonour, OutcomeGoodwill, OutcomeReturn, OutcomeKeep, OutcomeDismiss,
	}
}

// Evidence is how things stood when a case was opened.
type Evidence struct {
	// State and Version are the coupon's, Holder the order that had it.
	State   State  `json:"state,omitempty"`
	Version int64  `json:"version,omitempty"`
	Holder  string `json:"holder,omitempty"`
	// Payable and Paid are sums in minor units of Currency, Payments their number.
	Payable  int64  `json:"payable"`
	Paid     int64  `json:"paid"`
	Payments int    `json:"payments"`
	Currency string `json:"currency,omitempty"`
	// PaidAt and ClosedAt are when the order was paid and closed, as told.
	PaidAt   time.Time `json:"paidAt,omitzero"`
	ClosedAt time.Time `json:"closedAt,omitzero"`
	// Refusal is why the order had not got its coupon.
	Refusal Code `json:"refusal,omitempty"`
}

// evidence notes how things stand.
func (w *World) evidence(g group, named *Named) Evidence {
	paid, _, count := g.payments()
	e := Evidence{Payable: g.payable(), Paid: paid, Payments: count, Currency: g.head.Currency}
	if count > 0 {
		e.PaidAt, _, _ = g.paid()
	}
	if end := g.closed(true); end != nil {
		e.ClosedAt = end.At
	}
	if named == nil {
		return e
	}
	e.Refusal = named.Refusal
	if c := w.coupons[named.Coupon]; c != nil {
		e.State, e.Version = c.State, c.Version
		switch {
		case c.Lease != nil:
			e.Holder = c.Lease.Order
		case c.Redemption != nil:
			e.Holder = c.Redemption.Order
		}
	}
	return e
}

// Review is a case and, once somebody decided, what.
type Review struct {
	ReviewRow
	// Resolution is nil while the case is open.
	Resolution *Resolution
}

// Resolution is what a person decided about a case; it is written once.
type Resolution struct {
	Review  string
	Outcome ReviewOutcome
	Actor   string
	Note    string
	At      time.Time
}

// ResolveReview asks to record what a person decided. Order and Coupon are those of
// the case.
type ResolveReview struct {
	Review, Order, Coupon string
	Outcome               ReviewOutcome
	Note                  string
	// Code and Template are those of the coupon that GOODWILL_COUPON issues.
	Code, Template string
}

func (f ResolveReview) Orders() []string { return present(f.Order) }
func (f ResolveReview) Coupons() []string {
	return present(f.Coupon, Fold(f.Code))
}
func (ResolveReview) kind() string { return "ResolveReview" }

// Resolved is the answer to a resolution, such as "RESOLVED:REFUND".
func Resolved(outcome ReviewOutcome) Code { return Code("RESOLVED:" + outcome) }

func (f ResolveReview) carryOut(w *World, a *Answer, _ Fields) {
	a.Coupon, a.Order = f.Coupon, f.Order
	review := w.reviews[f.Review]
	switch {
	case review == nil || review.Order != f.Order || review.Coupon != f.Coupon:
		a.refuse(UnknownReview)
		return
	case review.Resolution != nil:
		a.Status, a.Code = Unchanged, Resolved(review.Resolution.Outcome) // the first decision stands
		return
	}
	switch f.Outcome {
	case OutcomeReturn:
		w.returnReviewed(f, a)
	case OutcomeGoodwill:
		w.issueGoodwill(f, a)
	}
	if a.Status == Refused {
		return
	}
	a.Status, a.Code = Applied, Resolved(f.Outcome)
	review.Resolution = &Resolution{
		Review: f.Review, Outcome: f.Outcome, Actor: w.request.Actor, Note: f.Note, At: w.Now,
	}
	w.changes.Resolutions = append(w.changes.Resolutions, review.Resolution)
	event := w.event(EventReviewResolved, w.coupons[f.Coupon], f.Order)
	event.Coupon, event.Review, event.Resolution = f.Coupon, &review.ReviewRow, review.Resolution
}

// returnReviewed gives the coupon back that the order uses. The person's decision is
// evidence like a policy's.
func (w *World) returnReviewed(f ResolveReview, a *Answer) {
	c, o := w.coupons[f.Coupon], w.order(f.Order)
	switch {
	case c == nil:
		a.refuse(UnknownCoupon)
		return
	case !c.UsedBy(o.Head()):
		a.refuse(IllegalState(c.State))
		return
	}
	rules := w.policyOf(c.Redemption.PolicyVersion)
	verdict := policy.Verdict{Decision: policy.Return, Ground: policy.GroundReview}
	paid, _, _ := w.groupOf(o).payments()
	evidence := &RefundDecision{
		Order: o.ID, Refund: "review:" + f.Review, Coupon: c.ID, Decision: verdict.String(),
		PolicyVersion: rules.Version, RedemptionID: c.Redemption.ID,
		Payable: w.groupOf(o).payable(), Paid: paid, At: w.Now,
	}
	w.changes.Decisions = append(w.changes.Decisions, evidence)
	w.decisionEvent(EventRefundDecided, c, o.ID, evidence)
	evidence.OperationID = w.endUse(c, verdict.Decision, rules, OperationRow{
		Reason: verdict.String(), Refund: evidence.Refund,
	})
	a.stands(c)
	a.Operation = evidence.OperationID
}

// issueGoodwill gives the buyer another coupon.
func (w *World) issueGoodwill(f ResolveReview, a *Answer) {
	outcome := w.importCoupon(ImportCoupon{
		Code: f.Code, Template: f.Template, Owner: w.order(f.Order).Customer, Batch: "review:" + f.Review,
	})
	switch outcome.Code {
	case Created:
	case UnknownTemplate:
		a.refuse(UnknownTemplate)
	default:
		a.refuse(CodeTaken)
	}
}

// Validate says what makes a resolution impossible whatever the case.
func (f ResolveReview) Validate() error {
	known := false
	for _, outcome := range ReviewOutcomes() {
		known = known || outcome == f.Outcome
	}
	switch {
	case !known:
		return fmt.Errorf("outcome %q: want one of %v", f.Outcome, ReviewOutcomes())
	case f.Outcome == OutcomeGoodwill && (Fold(f.Code) == "" || f.Template == ""):
		return fmt.Errorf("%s needs the code and the template of the coupon to issue", f.Outcome)
	case f.Outcome != OutcomeGoodwill && (f.Code != "" || f.Template != ""):
		return fmt.Errorf("only %s issues a coupon", OutcomeGoodwill)
	case f.Outcome == OutcomeReturn && f.Coupon == "":
		return fmt.Errorf("%s needs a coupon, and the case is about the order as a whole", f.Outcome)
	default:
		return nil
	}
}
