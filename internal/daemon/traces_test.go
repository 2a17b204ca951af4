package daemon_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

const (
	traceID      = "4bf92f3577b34da6a3ce929d0e0e4736"
	senderSpan   = "00f067aa0ba902b7"
	followed     = "00-" + traceID + "-" + senderSpan + "-01"
	notFollowed  = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	contextOfAll = "traceparent"
)

// publishIn sends a fact under a context.
func (s *shop) publishIn(context string, f fact) {
	s.t.Helper()
	body, err := json.Marshal(f.content)
	must(s.t, err, "encode fact")
	must(s.t, s.publisher.PublishBatch(s.t.Context(), []amqp.Publication{{
		Exchange: amqp.ExchangeCommerce, Key: f.kind, Type: f.kind, ID: f.id, Mandatory: true,
		ContentType: "application/json", Timestamp: time.Now(), Body: body, Headers: map[string]string{contextOfAll: context},
	}})[0], "publish fact")
}

// The context of a message goes through batch and outbox into the event, and every
// step of the way is in its trace.
func TestMessagesAreTracedIntoTheirEvents(t *testing.T) {
	s := newShop(t)
	s.issue(0, 2)
	collector := testkit.Traces(t)
	cfg := s.config()
	cfg.TraceEndpoint, cfg.TraceShare = collector.URL, "0"
	d := start(t, cfg)
	events := s.listen()
	s.publishIn(followed, placed(0, 0))
	s.publishIn(notFollowed, placed(1, 0))
	events.eventually(t, messages.TypeCouponLocked, 2)
	s.eventuallyPublished()
	must(t, d.stop(), "stop")

	spans := map[string]testkit.Span{}
	for _, span := range collector.Spans() {
		if span.Trace != traceID || span.Failed {
			t.Errorf("a span that does not belong here: %+v", span)
		}
		spans[span.Name] = span
	}
	consume, send := spans["process coupon-order-placed"], spans["send coupon.events"]
	got := map[string]string{}
	for name, span := range spans {
		got[name] = span.Kind + " of " + span.Parent
	}
	want := map[string]string{
		"process coupon-order-placed": "consumer of " + senderSpan,
		"submit":                      "internal of " + consume.ID,
		"batch":                       "internal of " + consume.ID,
		"send coupon.events":          "producer of " + consume.ID,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if !slices.Equal(spans["batch"].Links, []string{consume.ID}) {
		t.Errorf("the batch is linked to %v, want %s", spans["batch"].Links, consume.ID)
	}
	if diff := cmp.Diff(map[string]string{
		coupon.Fold(code(0)): "00-" + traceID + "-" + send.ID + "-01",
		coupon.Fold(code(1)): notFollowed,
	}, events.contexts); diff != "" {
		t.Errorf("contexts of the events (-want +got):\n%s", diff)
	}
}

// Without a collector the context of a message is passed on as it came.
func TestContextsPassThroughWhenNothingIsTraced(t *testing.T) {
	s := newShop(t)
	s.issue(0, 2)
	start(t, s.config())
	events := s.listen()
	s.publishIn(followed, placed(0, 0))
	s.publish(placed(1, 0))
	events.eventually(t, messages.TypeCouponLocked, 2)
	if diff := cmp.Diff(map[string]string{coupon.Fold(code(0)): followed, coupon.Fold(code(1)): ""}, events.contexts); diff != "" {
		t.Errorf("contexts of the events (-want +got):\n%s", diff)
	}
}

// A collector that is away holds nothing up.
func TestACollectorThatIsAwayHoldsNothingUp(t *testing.T) {
	s := newShop(t)
	s.issue(0, 20)
	cfg := s.config()
	cfg.TraceEndpoint, cfg.TraceShare = "http://127.0.0.1:1", "1"
	d := start(t, cfg)
	events := s.listen()
	for i := range 20 {
		s.publish(placed(i, 0))
	}
	events.eventually(t, messages.TypeCouponLocked, 20)
	s.eventuallyPublished()
	must(t, d.stop(), "stop")
}
