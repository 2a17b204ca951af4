package console

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/store"
)

// Activity is what the product has done so far, as far as it is remembered.
type Activity struct {
	// Answers count the messages by kind and by the answer they got.
	Answers []AnswerCount `json:"answers"`
	// Coupons counts the coupons by state.
	Coupons map[coupon.State]int64 `json:"coupons"`
	// Operations counts the changes of coupons.
	Operations int64 `json:"operations"`
	Orders     int64 `json:"orders"`
	// Reviews counts the cases for people by reason, at most a page of them.
	Reviews map[coupon.ReviewReason]int `json:"reviews"`
	// OutboxMessages await publication.
	OutboxMessages int64 `json:"outboxMessages"`
	OutboxParked   int64 `json:"outboxParked"`
}

// AnswerCount is how many messages of one kind got one answer.
type AnswerCount struct {
	Kind     string      `json:"kind"`
	Code     coupon.Code `json:"code"`
	Messages int64       `json:"messages"`
}

// maxActivityReviews bounds how many cases are counted.
const maxActivityReviews = 100_000

// Activity counts what has been done. It reads whole tables.
func (d *Database) Activity(ctx context.Context) (Activity, error) {
	counts, err := d.store.Counts(ctx, time.Minute)
	if err != nil {
		return Activity{}, err
	}
	backlog, err := d.store.Backlog(ctx)
	if err != nil {
		return Activity{}, err
	}
	a := Activity{
		Answers: []AnswerCount{}, Coupons: counts.Coupons, Operations: counts.Operations, Orders: counts.Orders,
		Reviews: map[coupon.ReviewReason]int{}, OutboxMessages: backlog.OutboxMessages, OutboxParked: backlog.ParkedRows,
	}
	answers, err := d.store.Answers(ctx)
	if err != nil {
		return a, err
	}
	for _, answer := range answers {
		a.Answers = append(a.Answers, AnswerCount(answer))
	}
	reviews, err := d.store.Reviews(ctx, store.ReviewFilter{Limit: maxActivityReviews})
	if err != nil {
		return a, err
	}
	for i := range reviews {
		a.Reviews[reviews[i].Reason]++
	}
	return a, nil
}

// WriteText prints the counts as tables.
func (a Activity) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"MESSAGE", "  COUNT", "ANSWER", ""}}
	for _, answer := range a.Answers {
		rows = append(rows, []string{
			answer.Kind, right(thousands(answer.Messages)), string(answer.Code), meaning(answer.Code),
		})
	}
	out.table(rows)
	out.addf("")
	rows = [][]string{{"COUPONS", "  COUNT"}}
	for _, state := range coupon.States() {
		if n := a.Coupons[state]; n > 0 {
			rows = append(rows, []string{string(state), right(thousands(n))})
		}
	}
	out.table(rows)
	out.addf("")
	rows = [][]string{{"REVIEWS", "  COUNT"}}
	for _, reason := range slices.Sorted(maps.Keys(a.Reviews)) {
		rows = append(rows, []string{string(reason), right(fmt.Sprint(a.Reviews[reason]))})
	}
	out.table(rows)
	out.addf("%s on %s; %s to publish", count(a.Operations, "operation"), count(a.Orders, "order"),
		count(a.OutboxMessages, "message"))
	return out.err
}

// right sets a number where the eye expects it.
func right(number string) string { return fmt.Sprintf("%7s", number) }

// meaning says in a few words what an answer stands for; "" where its name does.
func meaning(code coupon.Code) string {
	switch code {
	case coupon.OK:
		return "the order has its coupons"
	case coupon.Parked:
		return "recorded; what it belongs to has not been heard of yet"
	case coupon.Tombstone:
		return "the order was closed before we heard of it"
	case coupon.NoopPaid:
		return "a close does not undo a payment"
	case coupon.InReview:
		return "a person has to look"
	case coupon.NoopStale:
		return "the lease in question is no more"
	case coupon.DuplicatePayment:
		return "a known payment under a new message id"
	case coupon.DuplicateRefund:
		return "a known refund under a new message id"
	case coupon.OrderAlreadyClosed:
		return "placed before its close, which we heard of first"
	case coupon.Rejected(coupon.AlreadyLocked), coupon.Rejected(coupon.AlreadyUsed):
		return "another order has the coupon"
	case "RETURN:FULL":
		return "refunded in full: the coupon goes back"
	case "KEEP:PARTIAL":
		return "refunded in part: the coupon stays used"
	default:
		return ""
	}
}
