package handlers

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
	"couponlease/internal/policy"
	"couponlease/internal/simulate"
	"couponlease/messages"
)

// world is a memory ledger with three coupons, and everything it announced.
type world struct {
	t      *testing.T
	ledger *simulate.Ledger
	now    time.Time
	rows   []coupon.OutboxRow
	events []*coupon.Event
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: at}
	w.ledger = simulate.NewLedger(func() time.Time { return w.now }, coupon.DefaultRules(), simulate.NewSource("events"))
	rules := policy.Default()
	rules.Version, rules.Full = 7, policy.Retire
	w.ask("policy", coupon.DefinePolicy{Policy: rules})
	for id, version := range map[string]int64{"give": 1, "end": 7} {
		w.ask("", coupon.DefineTemplate{Template: coupon.Template{
			ID: id,
			Terms: coupon.Terms{
				Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit, PolicyVersion: version, ValidUntil: at.Add(time.Hour),
			},
		}})
	}
	w.ask("", coupon.ImportCoupon{Code: "c1", Template: "give"})
	w.ask("", coupon.ImportCoupon{Code: "c2", Template: "end"})
	w.ask("", coupon.ImportCoupon{Code: "c3", Template: "give"})
	return w
}

func (w *world) ask(id string, fact coupon.Fact) {
	w.t.Helper()
	request := coupon.Request{ID: id, At: w.now, Trace: trace, Fact: fact}
	err := w.ledger.Apply(context.Background(), []coupon.Request{request}, func(world *coupon.World) {
		coupon.Decide(world, &request)
		changes := world.Seal()
		rows, err := Outbox(changes, 4)
		if err != nil {
			w.t.Fatal(err)
		}
		changes.Outbox = rows
		w.rows = append(w.rows, rows...)
		w.events = append(w.events, changes.Events...)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

var trace = "00-" + strings.Repeat("a", 32) + "-" + strings.Repeat("b", 16) + "-01"

// buy places and pays an order.
func (w *world) buy(order string, coupons ...string) {
	w.place(order, coupons...)
	w.ask(order+"/paid", coupon.PaymentSucceeded{Order: order, Payment: "p-" + order, Amount: 100})
}

func (w *world) place(order string, coupons ...string) {
	f := coupon.OrderPlaced{Order: order, Customer: "u1", Payable: 100, Currency: "EUR"}
	for _, id := range coupons {
		f.Wanted = append(f.Wanted, coupon.Wanted{Coupon: id})
	}
	w.ask(order+"/placed", f)
}

// drive makes every event that facts and timers can cause.
func (w *world) drive() {
	w.buy("A", "c1", "c2")
	w.place("B", "c1")
	w.ask("A/r1", coupon.RefundApproved{Order: "A", Refund: "r1", Amount: 40, Currency: "EUR", Reason: "customer"})
	w.ask("A/r2", coupon.RefundApproved{Order: "A", Refund: "r2", Amount: 60, Currency: "EUR", Reason: "customer"})
	w.place("D", "c1")
	w.ask("D/closed", coupon.OrderClosed{Order: "D", Reason: "timeout"})
	w.now = w.now.Add(time.Second)
	w.ask("D/paid", coupon.PaymentSucceeded{Order: "D", Payment: "p-D", Amount: 100})
	w.buy("E", "c1")
	w.ask("E2/placed", coupon.OrderPlaced{Order: "E2", Customer: "u1", Payable: 100, Currency: "EUR",
		Supersedes: "E", Wanted: []coupon.Wanted{{Coupon: "c1"}}})
	w.now = w.now.Add(2 * time.Hour)
	w.ask("", coupon.ValidityOver{Coupon: "c3"})
}

func TestEveryEventOfThisPathHasItsMessage(t *testing.T) {
	w := newWorld(t)
	w.drive()
	kinds := map[coupon.EventKind]int{}
	for _, event := range w.events {
		kinds[event.Kind]++
		if _, _, err := messages.Encode(event.ID, event.Trace, Event(event)); err != nil {
			t.Errorf("%s: %v", event.Kind, err)
		}
		wantType, known := messages.TypeOf(string(event.Kind))
		if got := Event(event).MessageType(); !known || got != wantType {
			t.Errorf("%s is told as %s, want %s", event.Kind, got, wantType)
		}
	}
	for _, kind := range []coupon.EventKind{
		coupon.EventIssued, coupon.EventLocked, coupon.EventLockRejected, coupon.EventRedeemed, coupon.EventReleased,
		coupon.EventExpired, coupon.EventReturned, coupon.EventRetired, coupon.EventReturnDeclined,
		coupon.EventRefundDecided, coupon.EventReversed, coupon.EventConflictDetected, coupon.EventReviewOpened,
	} {
		if kinds[kind] == 0 {
			t.Errorf("%s was never announced", kind)
		}
	}
}

func TestOutboxKeepsTheOrderOfACouponAndHoldsNoToken(t *testing.T) {
	w := newWorld(t)
	w.drive()
	secret := simulate.TokenOf("events", "A", "c1", 1)
	shards, versions := map[string]int{}, map[string]int64{}
	for _, row := range w.rows {
		if bytes.Contains(row.Payload, []byte(secret)) {
			t.Errorf("the token of a lease is in the outbox: %s", row.Payload)
		}
		list, err := outbox.DecodeRow(row.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != row.Messages {
			t.Errorf("row says %d messages, holds %d", row.Messages, len(list))
		}
		for _, m := range list {
			envelope, err := messages.ParseOutgoing(messages.Delivery{
				Body: m.Body, MessageID: m.ID, Type: m.Type, ContentType: m.ContentType, Headers: m.Headers,
			})
			if err != nil {
				t.Errorf("%s cannot be read: %v", m.Type, err)
				continue
			}
			w.inOrder(envelope, m, row.Shard, shards, versions)
		}
	}
}

// inOrder checks shard and version of an event of a ledger row, and where it goes.
func (w *world) inOrder(
	envelope messages.Envelope, m outbox.Message, shard int, shards map[string]int, versions map[string]int64,
) {
	w.t.Helper()
	if m.DelayQueue != "" {
		if !m.Mandatory || m.NotBefore.IsZero() {
			w.t.Errorf("timer %s must be mandatory and delayed", m.ID)
		}
		return
	}
	if m.Exchange != messages.ExchangeEvents || m.Key != m.Type {
		w.t.Errorf("%s goes to %s/%s", m.Type, m.Exchange, m.Key)
	}
	for _, event := range w.events {
		if event.ID != envelope.ID || event.Operation == nil {
			continue
		}
		if known, ok := shards[event.Coupon]; ok && known != shard {
			w.t.Errorf("coupon %s is in shards %d and %d", event.Coupon, known, shard)
		}
		if event.Operation.To <= versions[event.Coupon] {
			w.t.Errorf("coupon %s: version %d after %d", event.Coupon, event.Operation.To, versions[event.Coupon])
		}
		shards[event.Coupon], versions[event.Coupon] = shard, event.Operation.To
	}
}

// A decision of a person is told with the case, whatever it changes.
func TestADecisionIsTold(t *testing.T) {
	w := newWorld(t)
	w.place("A", "c1")
	w.ask("A/closed", coupon.OrderClosed{Order: "A", Reason: "timeout"})
	w.now = w.now.Add(time.Second)
	w.ask("A/paid", coupon.PaymentSucceeded{Order: "A", Payment: "p", Amount: 100})
	opened := w.events[len(w.events)-1]
	w.ask("decide", coupon.ResolveReview{
		Review: opened.Review.ID, Order: "A", Coupon: "c1", Outcome: coupon.OutcomeRefund, Note: "on the phone",
	})
	event := w.events[len(w.events)-1]
	body, properties, err := messages.Encode(event.ID, event.Trace, Event(event))
	if err != nil || properties.Type != messages.TypeReviewResolved {
		t.Fatalf("told as %s: %v", properties.Type, err)
	}
	for _, part := range []string{opened.Review.ID, `"REFUND"`, `"LATE_PAYMENT_ON_CLOSED_ORDER"`, `"orderId":"A"`, `"couponId":"c1"`} {
		if !bytes.Contains(body, []byte(part)) {
			t.Errorf("%s is not in %s", part, body)
		}
	}
}
