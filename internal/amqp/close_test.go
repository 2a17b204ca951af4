package amqp

import (
	"context"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/testkit"

	"github.com/ThreeDotsLabs/watermill/message"
)

// closing is a subscriber and a publisher about to be closed.
type closing struct {
	stub             *stub
	sub              *Subscriber
	pub              *Publisher
	consume, publish *Conn
	messages         <-chan *message.Message
}

func newClosing(t *testing.T) closing {
	t.Helper()
	w := closing{stub: newStub(t, script{})}
	connection := func() *Conn {
		conn, err := Connect(ConnConfig{
			URL: w.stub.url(), CloseTimeout: 50 * time.Millisecond,
			MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	w.consume, w.publish = connection(), connection()
	w.sub = NewSubscriber(w.consume, SubscriberConfig{
		DrainTimeout: 50 * time.Millisecond, RequestTimeout: 50 * time.Millisecond,
		MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond,
	})
	w.pub = NewPublisher(w.publish, PublisherConfig{
		CloseTimeout: 50 * time.Millisecond, ConfirmTimeout: 50 * time.Millisecond,
	})
	w.messages = subscribe(t, w.sub, QueueOrderPlaced)
	return w
}

// change gives the stub other rules and makes everybody connect anew.
func (w closing) change(edit func(*script)) {
	w.stub.change(edit)
	w.stub.dropAll()
}

// consumingStates are those in which the subscriber differs.
func consumingStates() map[string]func(t *testing.T, w closing) {
	return map[string]func(t *testing.T, w closing){
		"at once":   func(*testing.T, closing) {},
		"consuming": func(_ *testing.T, w closing) { w.stub.await(methodConsume) },
		"channel never opens": func(_ *testing.T, w closing) {
			w.change(func(s *script) { s.mute = map[stubMethod]bool{methodChannelOpen: true} })
			w.stub.await(methodChannelOpen)
		},
		"queue missing": func(_ *testing.T, w closing) {
			w.change(func(s *script) { s.refuse = map[stubMethod]uint16{methodConsume: 404} })
			w.stub.await(methodConsume)
			w.stub.await(methodConsume)
		},
		"paused": func(_ *testing.T, w closing) {
			w.stub.await(methodConsume)
			w.sub.Pause("test")
			w.stub.await(methodCancel)
		},
		"message nobody takes": func(t *testing.T, w closing) {
			h := w.stub.await(methodConsume)
			h.conn.deliver(h.channel, h.consumer, 1)
			testkit.Eventually(t, patience, "message is delivered", func() (bool, string) {
				return w.sub.Stats()[0].Delivered == 1, fmt.Sprintf("%+v", w.sub.Stats()[0])
			})
		},
		"suspect waits for a message in flight": func(t *testing.T, w closing) {
			h := w.stub.await(methodConsume)
			h.conn.deliver(h.channel, h.consumer, 1)
			receive(t, w.messages)
			h = w.stub.await(methodConsume)
			h.conn.deliverAgain(h.channel, h.consumer, 9, 2)
			w.stub.await(methodCancel)
		},
	}
}

// connectionStates are those in which the broker or the publisher differs.
func connectionStates() map[string]func(t *testing.T, w closing) {
	return map[string]func(t *testing.T, w closing){
		"broker gone": func(t *testing.T, w closing) {
			w.stub.await(methodConsume)
			w.stub.shut()
			testkit.Eventually(t, patience, "connection is lost", func() (bool, string) {
				return !w.consume.State().Connected, "still connected"
			})
		},
		"reconnecting": func(_ *testing.T, w closing) {
			w.stub.await(methodConsume).conn.drop()
			w.stub.await(methodConnectionOpen)
		},
		"broker silent": func(t *testing.T, w closing) {
			w.stub.await(methodConsume)
			for _, c := range w.stub.connections() {
				c.hold.Lock()
				t.Cleanup(c.hold.Unlock)
			}
		},
		"publisher blocked": func(t *testing.T, w closing) {
			w.stub.change(func(s *script) {
				s.publish = func(c *stubConn, _ stubPublish) { c.block("low on memory") }
			})
			expect(t, w.pub.PublishBatch(testContext(t), numbered(QueueDead, 1)), ErrUnconfirmed)
		},
		"publication unconfirmed": func(_ *testing.T, w closing) {
			w.stub.change(func(s *script) { s.publish = func(*stubConn, stubPublish) {} })
			go w.pub.PublishBatch(context.Background(), numbered(QueueDead, 1))
			w.stub.await(methodPublish)
		},
	}
}

// TestCloseEndsEverything closes a subscriber, a publisher and their connections
// in every state they can be in. Nothing may hang, nothing may be left.
func TestCloseEndsEverything(t *testing.T) {
	for _, states := range []map[string]func(t *testing.T, w closing){consumingStates(), connectionStates()} {
		for name, arrange := range states {
			t.Run(name, func(t *testing.T) {
				noLeaks(t)
				w := newClosing(t)
				arrange(t, w)
				closeNow(t, "subscriber", w.sub.Close)
				// A publisher that leaves publications unconfirmed says so.
				_ = w.pub.Close()
				closeNow(t, "consuming connection", w.consume.Close)
				closeNow(t, "publishing connection", w.publish.Close)
				closeNow(t, "connection, again", w.consume.Close)
			})
		}
	}
}
