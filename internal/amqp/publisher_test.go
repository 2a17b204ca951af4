package amqp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"couponlease/internal/testkit"

	"github.com/ThreeDotsLabs/watermill/message"
)

func stubPublisher(t *testing.T, b *stub, cfg PublisherConfig) *Publisher {
	t.Helper()
	cfg.ConfirmTimeout = orDefault(cfg.ConfirmTimeout, 20*time.Second)
	cfg.CloseTimeout = orDefault(cfg.CloseTimeout, 50*time.Millisecond)
	p := NewPublisher(connect(t, b.url()), cfg)
	// Some of these tests leave the broker silent, and Close says so.
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// expect compares outcomes with sentinel errors, nil for success.
func expect(t *testing.T, got []error, want ...error) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d outcomes, want %d", len(got), len(want))
	}
	for i := range want {
		if !errors.Is(got[i], want[i]) || (want[i] == nil) != (got[i] == nil) {
			t.Errorf("publication %d: %v, want %v", i, got[i], want[i])
		}
	}
}

func TestPublisherMatchesReturnsAndConfirms(t *testing.T) {
	// The broker answers when it has all five: returns first, then confirmations
	// out of order, singly and many at once, all of publications with one id.
	b := newStub(t, script{publish: func(c *stubConn, p stubPublish) {
		if p.number == 2 || p.number == 4 {
			c.giveBack(p)
		}
		if p.number == 5 {
			c.confirm(p.channel, 4, false, true)
			c.confirm(p.channel, 3, false, false)
			c.confirm(p.channel, 2, true, true)
			c.confirm(p.channel, 5, true, true)
		}
	}})
	p := stubPublisher(t, b, PublisherConfig{})
	publications := numbered(QueueOrderPlaced, 5)
	for i := range publications {
		publications[i].ID = "same"
	}
	got := p.PublishBatch(testContext(t), publications)
	expect(t, got, nil, ErrReturned, ErrNacked, ErrReturned, nil)
	var returned *ReturnedError
	if !errors.As(got[1], &returned) || returned.Code != 312 || returned.Text != "NO_ROUTE" {
		t.Errorf("returned with %+v, want 312 NO_ROUTE", returned)
	}
}

func TestPublisherKeepsOrderAndWindow(t *testing.T) {
	const window, count = 8, 100
	var pending []stubPublish
	most := 0
	b := newStub(t, script{publish: func(c *stubConn, p stubPublish) {
		pending = append(pending, p)
		most = max(most, len(pending))
		// Confirmed only when the window is full: a publisher that held back what it
		// published while waiting for room would wait forever.
		if len(pending) >= window || p.number == count {
			c.confirm(p.channel, p.number, true, true)
			pending = nil
		}
	}})
	p := stubPublisher(t, b, PublisherConfig{Window: window})
	all := numbered(QueueOrderPlaced, count)
	// A first one alone, so that the others do not fill the window evenly.
	first := make(chan []error, 1)
	go func() { first <- p.PublishBatch(testContext(t), all[:1]) }()
	arrived := []string{string(b.await(methodPublish).publish.properties)}
	for i, err := range append(p.PublishBatch(testContext(t), all[1:]), <-first...) {
		if err != nil {
			t.Fatalf("publication %d: %v", i, err)
		}
	}
	if most > window {
		t.Errorf("%d publications awaited confirmation, the window is %d", most, window)
	}
	for _, h := range b.seen() {
		if h.method == methodPublish {
			arrived = append(arrived, string(h.publish.properties))
		}
	}
	if len(arrived) != count {
		t.Fatalf("%d publications arrived, want %d", len(arrived), count)
	}
	for i, properties := range arrived {
		if !strings.Contains(properties, fmt.Sprintf("m-%d", i)) {
			t.Fatalf("publication %d arrived out of order", i)
		}
	}
}

func TestPublisherMissingConfirm(t *testing.T) {
	silent := true
	b := newStub(t, script{publish: func(c *stubConn, p stubPublish) {
		if silent && p.number == 2 {
			return
		}
		c.confirm(p.channel, p.number, false, true)
	}})
	p := stubPublisher(t, b, PublisherConfig{ConfirmTimeout: 100 * time.Millisecond})
	before := p.conn
	got := p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 3))
	expect(t, got, nil, ErrUnconfirmed, nil)
	// The silent connection is given up, the next publication goes over a new one.
	testkit.Eventually(t, patience, "connection is replaced", func() (bool, string) {
		state := before.State()
		return state.Connected && state.Connects == 2, fmt.Sprintf("%+v", state)
	})
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 1)), nil)
}

func TestPublisherContextEndsWaitingOnly(t *testing.T) {
	release := make(chan struct{})
	b := newStub(t, script{publish: func(c *stubConn, p stubPublish) {
		<-release
		c.confirm(p.channel, p.number, false, true)
	}})
	p := stubPublisher(t, b, PublisherConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := make(chan []error, 1)
	go func() { outcomes <- p.PublishBatch(ctx, numbered(QueueOrderPlaced, 1)) }()
	b.await(methodPublish)
	cancel()
	expect(t, <-outcomes, ErrUnconfirmed)
	close(release)
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 1)), nil)
	if got := p.conn.State().Connects; got != 1 {
		t.Errorf("%d connections, want the first one still in use", got)
	}
}

func TestPublisherConnectionLostBeforeConfirm(t *testing.T) {
	b := newStub(t, script{publish: func(c *stubConn, p stubPublish) {
		if p.number == 1 {
			c.confirm(p.channel, p.number, false, true)
			return
		}
		c.drop()
	}})
	p := stubPublisher(t, b, PublisherConfig{})
	got := p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 3))
	for i, err := range got[1:] {
		if !errors.Is(err, ErrUnconfirmed) && !errors.Is(err, ErrNotSent) {
			t.Errorf("publication %d: %v, want unconfirmed or not sent", i+1, err)
		}
	}
	b.change(func(s *script) { s.publish = nil })
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 1)), nil)
}

func TestPublisherBlockedByTheBroker(t *testing.T) {
	held := make(chan stubPublish, 1)
	b := newStub(t, script{publish: func(c *stubConn, p stubPublish) {
		if p.number == 1 {
			c.block("low on memory")
			held <- p
			return
		}
		c.confirm(p.channel, p.number, false, true)
	}})
	p := stubPublisher(t, b, PublisherConfig{ConfirmTimeout: 100 * time.Millisecond})
	got := p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 1))
	expect(t, got, ErrUnconfirmed)
	if !errors.Is(got[0], ErrBlocked) || !strings.Contains(got[0].Error(), "low on memory") {
		t.Errorf("outcome %q does not say that the broker blocks, and why", got[0])
	}
	// Nothing more is sent, nobody waits, and the connection is kept.
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 2)), ErrBlocked, ErrBlocked)
	state := p.conn.State()
	if !state.Blocked || state.BlockedReason != "low on memory" || state.Connects != 1 {
		t.Errorf("state %+v, want blocked for the broker's reason on the first connection", state)
	}
	first := <-held
	conn := b.connections()[0]
	conn.confirm(first.channel, first.number, false, true)
	conn.unblock()
	testkit.Eventually(t, patience, "publishing is unblocked", func() (bool, string) {
		return !p.conn.State().Blocked, "still blocked"
	})
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 1)), nil)
	if got := len(p.slots); got != 0 {
		t.Errorf("%d places of the window are still taken", got)
	}
}

// TestPublisherClosesWhileBlocked has a broker that blocks and reads nothing:
// there is no answer to wait for.
func TestPublisherClosesWhileBlocked(t *testing.T) {
	b := newStub(t, script{publish: func(c *stubConn, _ stubPublish) { c.block("low on memory") }})
	p := stubPublisher(t, b, PublisherConfig{ConfirmTimeout: 50 * time.Millisecond, CloseTimeout: 20 * time.Second})
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 1)), ErrUnconfirmed)
	deaf := b.connections()[0]
	deaf.hold.Lock()
	defer deaf.hold.Unlock()
	closeNow(t, "publisher", p.Close)
}

// TestPublisherWriteHangs has a broker that stops reading without a word, until
// the socket is full and a write cannot end.
func TestPublisherWriteHangs(t *testing.T) {
	noLeaks(t)
	b := newStub(t, script{})
	conn, err := Connect(ConnConfig{
		URL: b.url(), MinBackoff: time.Millisecond,
		WriteTimeout: 100 * time.Millisecond, CloseTimeout: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPublisher(conn, PublisherConfig{})
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 1)), nil)
	deaf := b.connections()[0]
	deaf.hold.Lock()
	publications := numbered(QueueOrderPlaced, 64)
	for i := range publications {
		publications[i].Body = make([]byte, MaxBody)
	}
	for i, err := range p.PublishBatch(testContext(t), publications) {
		if !errors.Is(err, ErrUnconfirmed) && !errors.Is(err, ErrNotSent) {
			t.Fatalf("publication %d: %v, want unconfirmed or not sent", i, err)
		}
	}
	deaf.hold.Unlock()
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 1)), nil)
	closeNow(t, "publisher", p.Close)
	closeNow(t, "connection", conn.Close)
	b.shut()
}

func TestPublisherRefusesWhatCannotBeSent(t *testing.T) {
	b := newStub(t, script{})
	p := stubPublisher(t, b, PublisherConfig{})
	long := strings.Repeat("x", 256)
	got := p.PublishBatch(testContext(t), []Publication{
		{Key: long}, {Exchange: long}, {ID: long}, {Type: long}, {ContentType: long}, {CorrelationID: long},
		{ReplyTo: long}, {Body: make([]byte, MaxBody+1)}, {DelayQueue: "a.b"},
		{Key: QueueClaims, Headers: map[string]string{long: "dropped", "huge": strings.Repeat("x", 1<<20)}},
	})
	expect(t, got, append(slices.Repeat([]error{ErrInvalid}, 9), nil)...)
	if got := p.conn.State().Connects; got != 1 {
		t.Errorf("%d connections: refusing a publication cost one", got)
	}
}

func TestPublisherWatermill(t *testing.T) {
	b := newStub(t, script{publish: func(c *stubConn, p stubPublish) {
		if p.key == "nowhere" {
			c.giveBack(p)
		}
		c.confirm(p.channel, p.number, false, true)
	}})
	p := stubPublisher(t, b, PublisherConfig{})
	msg := message.NewMessage("id-1", []byte("{}"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	msg.SetContext(ctx)
	if err := p.Publish("coupon.events/coupon.locked.v1", msg); err != nil {
		t.Errorf("publish with a cancelled handler: %v", err)
	}
	got := b.await(methodPublish).publish
	if got.exchange != "coupon.events" || got.key != "coupon.locked.v1" || !got.mandatory {
		t.Errorf("published to %q with key %q, mandatory %v", got.exchange, got.key, got.mandatory)
	}
	if err := p.Publish("coupon-dead", msg); err != nil {
		t.Errorf("publish to a queue: %v", err)
	}
	if got := b.await(methodPublish).publish; got.exchange != "" || got.key != "coupon-dead" {
		t.Errorf("published to %q with key %q, want the queue by the default exchange", got.exchange, got.key)
	}
	err := p.Publish("coupon.events/nowhere", msg)
	if !errors.Is(err, ErrReturned) || !strings.Contains(err.Error(), "id-1") {
		t.Errorf("unroutable: %v, want ErrReturned naming the message", err)
	}
	closeNow(t, "publisher", p.Close)
	if err := p.Publish("coupon-dead", msg); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

func TestPublisherWhileAway(t *testing.T) {
	b := newStub(t, script{})
	p := stubPublisher(t, b, PublisherConfig{ConfirmTimeout: 50 * time.Millisecond})
	b.shut()
	expect(t, p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 2)), ErrNotSent, ErrNotSent)
	if got := p.PublishBatch(t.Context(), nil); len(got) != 0 {
		t.Errorf("an empty batch has outcomes %v", got)
	}
}
