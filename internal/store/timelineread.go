package store

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/order_commands.sql
	orderCommandsSQL string
	//go:embed sql/order_flows.sql
	orderFlowsSQL string
	//go:embed sql/payment_orders.sql
	paymentOrdersSQL string
	//go:embed sql/timeline_audits.sql
	timelineAuditsSQL string
	//go:embed sql/timeline_letters.sql
	timelineLettersSQL string
)

// Timeline reads everything that touched a coupon, as of one moment, and whether there
// is such a coupon. Orders may have named a coupon that never existed.
func (s *Store) Timeline(ctx context.Context, couponID string) (line *Timeline, found bool, err error) {
	line = &Timeline{}
	err = s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		var h coupon.History
		if h, found, err = v.history(ctx, couponID); err != nil {
			return err
		}
		if found {
			line.Histories = []coupon.History{h}
		}
		return v.aroundCoupon(ctx, couponID, line)
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the timeline of coupon %s: %w", couponID, err)
	}
	line.Moments = line.moments()
	return line, found, nil
}

// OrderTimeline reads everything that touched an order, the orders linked to it and the
// coupons as far as these orders had to do with them. An order may also be a quote or
// the redeem number of a till.
func (s *Store) OrderTimeline(ctx context.Context, order string) (*Timeline, error) {
	line := &Timeline{}
	err := s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		return v.aroundOrders(ctx, []string{order}, order, line)
	})
	if err != nil {
		return nil, fmt.Errorf("read the timeline of order %s: %w", order, err)
	}
	line.Moments = line.moments()
	return line, nil
}

// PaymentTimeline is that of the orders which a payment paid. There is no index on
// payments: it looks through all orders.
func (s *Store) PaymentTimeline(ctx context.Context, payment string) (*Timeline, error) {
	line := &Timeline{}
	err := s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		if err := v.atLeisure(ctx); err != nil {
			return err
		}
		var orders []string
		t := &trip{}
		t.query("look for orders with the payment", paymentOrdersSQL, list(&orders, scanText), payment, maxTimeline)
		if err := t.sendWithin(ctx, leisure+patience, v.conn); err != nil || len(orders) == 0 {
			return err
		}
		return v.aroundOrders(ctx, orders, payment, line)
	})
	if err != nil {
		return nil, fmt.Errorf("read the timeline of payment %s: %w", payment, err)
	}
	line.Moments = line.moments()
	return line, nil
}

// linked gives the orders, and all that are linked to them, whether they were heard of
// or not.
func (v *snapshot) linked(ctx context.Context, orders []string) (linked []string, err error) {
	t := &trip{}
	t.query("follow the links of orders", linkOrdersSQL, list(&linked, scanText), texts(orders), maxTimeline)
	err = v.send(ctx, t)
	return linked, err
}

// waiting counts the rows of the outbox that speak of something.
func (line *Timeline) waiting(t *trip, needle string) {
	t.query("search the outbox", timelineOutboxSQL, func(rows pgx.Rows) error { return rows.Scan(&line.Outbox) },
		needle, maxTimeline)
}

// aroundCoupon reads what is not kept with the coupon itself.
func (v *snapshot) aroundCoupon(ctx context.Context, couponID string, line *Timeline) error {
	var named []string
	t := &trip{}
	t.query("read orders that named it", timelineOrdersSQL, list(&named, scanText), couponID, maxTimeline)
	line.waiting(t, couponID)
	if err := v.send(ctx, t); err != nil {
		return err
	}
	linked, err := v.linked(ctx, named)
	if err != nil {
		return err
	}
	if line.Orders, err = v.orders(ctx, linked); err != nil {
		return err
	}
	t = &trip{}
	t.query("read reviews", timelineReviewsSQL, list(&line.Reviews, scanReviewRow), couponID, texts(linked), maxTimeline)
	t.query("read commands", timelineCommandsSQL, list(&line.Commands, scanAnswerRow), couponID, texts(linked),
		maxTimeline)
	t.query("read the steps of redemptions", timelineFlowsSQL, list(&line.Flows, scanFlowRow), couponID, maxTimeline)
	t.query("read the audit log", timelineAuditsSQL, list(&line.Audits, scanAuditRow), texts{couponID}, texts{},
		maxTimeline)
	if err := v.send(ctx, t); err != nil {
		return err
	}
	return v.messages(ctx, linked, texts{couponID}, line)
}

// aroundOrders reads what is known of orders; needle is what the outbox is searched for.
func (v *snapshot) aroundOrders(ctx context.Context, orders []string, needle string, line *Timeline) error {
	linked, err := v.linked(ctx, orders)
	if err != nil {
		return err
	}
	line.about = map[string]bool{}
	for _, id := range linked {
		line.about[id] = true
	}
	if line.Orders, err = v.orders(ctx, linked); err != nil {
		return err
	}
	t := &trip{}
	line.waiting(t, needle)
	for _, id := range linked {
		t.query("read reviews", reviewsSQL, list(&line.Reviews, scanReviewRow), noUUID, id, "", "", false, maxTimeline)
	}
	t.query("read commands", orderCommandsSQL, list(&line.Commands, scanAnswerRow), texts(linked), maxTimeline)
	t.query("read the steps of redemptions", orderFlowsSQL, list(&line.Flows, scanFlowRow), texts(linked), maxTimeline)
	if err := v.send(ctx, t); err != nil {
		return err
	}
	coupons := line.coupons()
	for _, id := range coupons {
		h, found, err := v.history(ctx, id)
		if err != nil {
			return err
		}
		if found {
			line.Histories = append(line.Histories, h)
		}
	}
	t = &trip{}
	t.query("read the audit log", timelineAuditsSQL, list(&line.Audits, scanAuditRow), coupons, texts(linked), maxTimeline)
	if err := v.send(ctx, t); err != nil {
		return err
	}
	line.keepOwnAudits()
	return v.messages(ctx, linked, texts{}, line)
}

// messages reads those about the orders and those that caused something, whether they
// were applied or not.
func (v *snapshot) messages(ctx context.Context, orders, coupons texts, line *Timeline) error {
	causes := line.causes()
	t := &trip{}
	t.query("read the inbox", timelineReceiptsSQL, list(&line.Receipts, scanReceiptRow), orders, causes, maxTimeline)
	t.query("read dead letters", timelineLettersSQL, list(&line.Letters, scanLetterNote), orders, coupons, causes,
		maxTimeline)
	err := v.send(ctx, t)
	line.Cut = slices.Max([]int{
		len(line.Orders), len(line.Reviews), len(line.Commands), len(line.Flows), len(line.Audits), len(line.Receipts),
		len(line.Letters),
	}) == maxTimeline
	return err
}

// coupons lists the coupons that orders had to do with.
func (line *Timeline) coupons() texts {
	coupons := texts{}
	for _, o := range line.Orders {
		for i := range o.Named {
			coupons = append(coupons, o.Named[i].Coupon)
		}
	}
	for _, a := range line.Commands {
		coupons = append(coupons, a.Coupon)
	}
	for i := range line.Flows {
		coupons = append(coupons, line.Flows[i].Coupon)
	}
	for i := range line.Reviews {
		coupons = append(coupons, line.Reviews[i].Coupon)
	}
	coupons = slices.DeleteFunc(distinct(coupons), func(id string) bool { return id == "" })
	return coupons[:min(len(coupons), maxTimelineCoupons)]
}

// keepOwnAudits leaves out what people did about the coupons for other orders.
func (line *Timeline) keepOwnAudits() {
	keys := map[string]bool{}
	for _, a := range line.Commands {
		keys[a.Key] = true
	}
	line.Audits = slices.DeleteFunc(line.Audits, func(a coupon.AuditRow) bool {
		return !line.about[a.Subject] && !keys[a.Key]
	})
}

// causes lists the messages behind operations and commands.
func (line *Timeline) causes() texts {
	causes := texts{}
	add := func(order, cause string) {
		if cause != "" && (line.about == nil || line.about[order]) {
			causes = append(causes, cause)
		}
	}
	for _, h := range line.Histories {
		for i := range h.Operations {
			add(h.Operations[i].Order, h.Operations[i].Cause)
		}
	}
	for _, a := range line.Commands {
		add(a.Order, a.Cause)
	}
	return distinct(causes)
}

func scanText(row scanTarget) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}

// scanLetterNote reads the columns of timeline_letters.sql.
func scanLetterNote(row scanTarget) (l LetterNote, err error) {
	err = row.Scan(toText{&l.ID}, &l.MessageID, &l.Queue, &l.Kind, &l.Status, &l.Outcome, &l.Reason, &l.Error,
		&l.Attempts, &l.Failures, toTime{&l.First}, toTime{&l.Last}, toTime{&l.Filed}, toTime{&l.Changed}, &l.Order,
		&l.Note, toText{&l.Corrects})
	return l, err
}
