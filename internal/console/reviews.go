package console

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
	"couponlease/internal/store"
)

// MaxReviewPage bounds how many cases one page has.
const MaxReviewPage = 1000

// ReviewQuery selects cases; zero fields select everything.
type ReviewQuery struct {
	Order, Coupon, Reason string
	// All lists decided cases as well.
	All bool
	// After is the Next of the page before.
	After string
	// Limit is 1 to MaxReviewPage.
	Limit int
}

// ReviewPage is a page of cases, oldest first.
type ReviewPage struct {
	Reviews []CaseView `json:"reviews"`
	// Next is where the next page begins; "" when there is none.
	Next string `json:"next,omitempty"`
}

// CaseView is one case that a person decides.
type CaseView struct {
	ID         string          `json:"id"`
	Reason     string          `json:"reason"`
	Order      string          `json:"orderId"`
	Coupon     string          `json:"couponId,omitempty"`
	OpenedAt   time.Time       `json:"openedAt"`
	AgeSeconds int64           `json:"ageSeconds"`
	Suggestion string          `json:"suggestion,omitempty"`
	Evidence   coupon.Evidence `json:"evidence"`
	Cause      string          `json:"causationId,omitempty"`
	// Resolution is what was decided; nil while the case is open.
	Resolution *ResolutionView `json:"resolution,omitempty"`
}

// ResolutionView is what a person decided.
type ResolutionView struct {
	Outcome string    `json:"outcome"`
	Actor   string    `json:"actor"`
	Note    string    `json:"note,omitempty"`
	At      time.Time `json:"at"`
}

// Reviews reads one page of cases.
func (d *Database) Reviews(ctx context.Context, q ReviewQuery) (ReviewPage, error) {
	if q.Limit < 1 || q.Limit > MaxReviewPage {
		return ReviewPage{}, Usage(fmt.Errorf("a page of %d cases: choose 1 to %d", q.Limit, MaxReviewPage))
	}
	if q.After != "" && uuid.Validate(q.After) != nil {
		return ReviewPage{}, Usage(fmt.Errorf("%q is no case: the page before says where the next begins", q.After))
	}
	now, err := d.store.Now(ctx)
	if err != nil {
		return ReviewPage{}, err
	}
	rows, err := d.store.Reviews(ctx, store.ReviewFilter{
		Order: q.Order, Coupon: coupon.Fold(q.Coupon), Reason: coupon.ReviewReason(q.Reason), OpenOnly: !q.All,
		After: q.After, Limit: q.Limit + 1,
	})
	if err != nil {
		return ReviewPage{}, err
	}
	page := ReviewPage{Reviews: []CaseView{}}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		page.Next = rows[q.Limit-1].ID
	}
	for i := range rows {
		page.Reviews = append(page.Reviews, caseView(&rows[i], now))
	}
	return page, nil
}

// Review gives one case, and whether there is one.
func (d *Database) Review(ctx context.Context, id string) (view CaseView, found bool, err error) {
	if uuid.Validate(id) != nil {
		return view, false, Usage(fmt.Errorf("%q is no case: `couponctl review list` shows them", id))
	}
	now, err := d.store.Now(ctx)
	if err != nil {
		return view, false, err
	}
	row, err := d.store.Review(ctx, id)
	if err != nil || row == nil {
		return view, false, err
	}
	return caseView(row, now), true, nil
}

func caseView(r *store.Review, now time.Time) CaseView {
	v := CaseView{
		ID: r.ID, Reason: string(r.Reason), Order: r.Order, Coupon: r.Coupon, OpenedAt: r.At,
		AgeSeconds: int64(now.Sub(r.At) / time.Second), Suggestion: r.Suggestion, Evidence: r.Evidence, Cause: r.Cause,
	}
	if !r.ResolvedAt.IsZero() {
		v.Resolution = &ResolutionView{Outcome: r.Resolution, Actor: r.ResolvedBy, Note: r.Note, At: r.ResolvedAt}
	}
	return v
}

// Verdict is what a person decides about a case.
type Verdict struct {
	Review  string
	Outcome string
	// Key, Actor, Reason and Shards are as in Order.
	Key, Actor, Reason string
	Shards             int
	// Code and Template are those of the coupon that GOODWILL_COUPON issues.
	Code, Template string
}

// Resolve records what a person decided about a case, and carries it out. A case is
// decided once: a second decision is answered with the first.
func (d *Database) Resolve(ctx context.Context, v Verdict) (CommandResult, error) {
	if err := checkWords(v.Actor, v.Reason); err != nil {
		return CommandResult{}, err
	}
	review, found, err := d.Review(ctx, v.Review)
	if err != nil {
		return CommandResult{}, err
	}
	if !found {
		return CommandResult{}, Usage(fmt.Errorf("there is no case %s: `couponctl review list` shows those that are open",
			v.Review))
	}
	fact := coupon.ResolveReview{
		Review: review.ID, Order: review.Order, Coupon: review.Coupon, Outcome: coupon.ReviewOutcome(v.Outcome),
		Note: v.Reason, Code: v.Code, Template: v.Template,
	}
	if err := fact.Validate(); err != nil {
		return CommandResult{}, Usage(err)
	}
	arguments, err := json.Marshal(fact)
	if err != nil {
		return CommandResult{}, fmt.Errorf("write the decision down: %w", err)
	}
	now, err := d.store.Now(ctx)
	if err != nil {
		return CommandResult{}, err
	}
	return d.carry(ctx, coupon.Request{
		ID: v.Key, Key: v.Key, Hash: sha256.Sum256(arguments), At: now, Actor: v.Actor, Fact: fact,
		Audit: &coupon.Audit{Reason: v.Reason, Arguments: arguments},
	}, v.Shards)
}

// WriteText prints one case a line.
func (p ReviewPage) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"CASE", "AGE", "REASON", "ORDER", "COUPON", "SUGGESTION", "DECIDED"}}
	for _, r := range p.Reviews {
		decided := "-"
		if r.Resolution != nil {
			decided = r.Resolution.Outcome + " by " + r.Resolution.Actor
		}
		rows = append(rows, []string{
			r.ID, age(r.AgeSeconds), r.Reason, r.Order, orDash(r.Coupon), orDash(r.Suggestion), decided,
		})
	}
	out.table(rows)
	if p.Next != "" {
		out.addf("more: --after %s", p.Next)
	}
	return out.err
}

func age(seconds int64) string { return (time.Duration(seconds) * time.Second).String() }

// WriteText prints one property a line.
func (r CaseView) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("case        %s, open since %s (%s)", r.ID, clockTime(r.OpenedAt), age(r.AgeSeconds))
	out.addf("reason      %s", r.Reason)
	out.addf("order       %s", r.Order)
	if r.Coupon != "" {
		out.addf("coupon      %s", r.Coupon)
	}
	e := r.Evidence
	out.addf("money       payable %s, paid %s in %s %s", thousands(e.Payable), thousands(e.Paid),
		count(int64(e.Payments), "payment"), e.Currency)
	if !e.PaidAt.IsZero() {
		out.addf("paid at     %s", clockTime(e.PaidAt))
	}
	if !e.ClosedAt.IsZero() {
		out.addf("closed at   %s", clockTime(e.ClosedAt))
	}
	if e.State != "" {
		out.addf("then        %s, version %s, held by %s", e.State, thousands(e.Version), orDash(e.Holder))
	}
	if e.Refusal != "" {
		out.addf("refused     %s", e.Refusal)
	}
	if r.Suggestion != "" {
		out.addf("suggestion  %s", r.Suggestion)
	}
	if d := r.Resolution; d != nil {
		out.addf("decided     %s by %s at %s: %s", d.Outcome, d.Actor, clockTime(d.At), d.Note)
	} else {
		out.addf("next        couponctl review resolve %s OUTCOME --reason TEXT", r.ID)
	}
	return out.err
}
