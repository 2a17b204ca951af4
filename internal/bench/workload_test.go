package main

import (
	"slices"
	"testing"

	"couponlease/internal/amqp"
	"couponlease/messages"
)

func TestPaymentsComeAfterTheirOrders(t *testing.T) {
	const n = 1001
	work := newTraffic(n, couponsFor(n), false, 1)
	if len(work.messages) != n || work.distinct != n || len(work.placed) != ahead {
		t.Fatalf("%d messages, %d distinct, %d placed before", len(work.messages), work.distinct, len(work.placed))
	}
	all, err := requests(slices.Concat(work.placed, work.messages))
	if err != nil {
		t.Fatal(err)
	}
	placed, wanted := map[string]bool{}, map[string]bool{}
	for _, r := range all {
		order := r.Fact.Orders()[0]
		coupons := r.Fact.Coupons()
		if len(coupons) == 0 && !placed[order] {
			t.Fatalf("order %s is paid before it is placed", order)
		}
		for _, coupon := range coupons {
			if placed[order] || wanted[coupon] {
				t.Fatalf("order %s with coupon %s comes twice", order, coupon)
			}
			placed[order], wanted[coupon] = true, true
		}
	}
	want := []string{amqp.QueueOrderPlaced, amqp.QueuePaymentSucceeded}
	if got := work.queues(); !slices.Equal(got, want) {
		t.Errorf("queues %q, want %q", got, want)
	}
}

func TestMixedTrafficRepeatsATenth(t *testing.T) {
	const n = 5000
	work := newTraffic(n, couponsFor(n), true, 1)
	ids, types := map[string]bool{}, map[string]int{}
	for _, m := range work.messages {
		ids[m.ID] = true
		types[m.Type]++
	}
	if len(ids) != work.distinct {
		t.Errorf("%d different messages, %d announced", len(ids), work.distinct)
	}
	if share := float64(len(work.messages)-len(ids)) / float64(len(ids)); share < 0.05 || share > 0.15 {
		t.Errorf("%.2f of the messages are repeated", share)
	}
	for _, name := range []string{messages.TypeOrderPlaced, messages.TypePaymentSucceeded, messages.TypeOrderClosed,
		messages.TypeRefundApproved} {
		if types[name] == 0 {
			t.Errorf("no %s", name)
		}
	}
}

func TestTrafficIsRepeatable(t *testing.T) {
	ids := func(seed uint64) (all []string) {
		for _, m := range newTraffic(400, couponsFor(400), true, seed).messages {
			all = append(all, m.ID)
		}
		return all
	}
	if !slices.Equal(ids(3), ids(3)) || slices.Equal(ids(3), ids(4)) {
		t.Error("the traffic does not depend on the seed alone")
	}
}
