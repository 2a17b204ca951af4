package amqp

import (
	"fmt"
	"testing"
	"time"
)

func delayed(id, queue string, delay time.Duration) Publication {
	return Publication{ID: id, DelayQueue: queue, Delay: delay, Mandatory: true, Body: []byte("{}")}
}

func TestShortDelayOvertakesLongOne(t *testing.T) {
	b := newBroker(t)
	p := b.publisher(t)
	messages := subscribe(t, b.subscriber(t, SubscriberConfig{}), QueueLeaseExpired)
	sent := time.Now()
	publishAll(t, p, []Publication{
		delayed("half-hour", QueueLeaseExpired, 30*time.Minute),
		delayed("second", QueueLeaseExpired, time.Second),
		delayed("three", QueueLeaseExpired, 3*time.Second),
		delayed("at-once", QueueLeaseExpired, 0),
	})
	for _, want := range []struct {
		id    string
		delay time.Duration
	}{{"at-once", 0}, {"second", time.Second}, {"three", 3 * time.Second}} {
		msg := receive(t, messages)
		msg.Ack()
		if msg.UUID != want.id {
			t.Fatalf("received %s, want %s", msg.UUID, want.id)
		}
		if elapsed := time.Since(sent); elapsed < want.delay {
			t.Errorf("%s arrived after %v, before its time", want.id, elapsed)
		}
		due, err := time.Parse(time.RFC3339, msg.Metadata[HeaderDueAt])
		if err != nil || due.Before(sent.Add(want.delay)) {
			t.Errorf("%s is due at %q, error %v", want.id, msg.Metadata[HeaderDueAt], err)
		}
		if msg.Metadata[MetaExchange] != ExchangeDelivery {
			t.Errorf("%s came from exchange %q", want.id, msg.Metadata[MetaExchange])
		}
	}
}

// TestMissingDestinationBlocksNobody sends more messages to a queue that is not
// there than the broker's dead-letter worker keeps open at once.
func TestMissingDestinationBlocksNobody(t *testing.T) {
	b := newBroker(t)
	s := b.subscriber(t, SubscriberConfig{})
	good, lost := subscribe(t, s, QueueLeaseExpired), subscribe(t, s, QueueUndeliverable)
	var publications []Publication
	for i := range 40 {
		publications = append(publications, delayed(fmt.Sprintf("lost-%d", i), "coupon-no-such-queue", time.Second))
	}
	publications = append(publications, delayed("good", QueueLeaseExpired, time.Second))
	publishAll(t, b.publisher(t), publications)
	if msg := receive(t, good); msg.UUID != "good" {
		t.Errorf("received %s", msg.UUID)
	} else {
		msg.Ack()
	}
	seen := newTally()
	for range 40 {
		msg := receive(t, lost)
		seen.add(msg)
		msg.Ack()
	}
	if seen.distinct() != 40 {
		t.Errorf("%d of 40 messages in %s", seen.distinct(), QueueUndeliverable)
	}
}

func TestDelayedMessageWaitsForItsReceiver(t *testing.T) {
	b := newBroker(t)
	publishAll(t, b.publisher(t), []Publication{delayed("early", QueueLeaseExpired, time.Second)})
	b.awaitDepth(t, QueueLeaseExpired, 1)
	msg := receive(t, subscribe(t, b.subscriber(t, SubscriberConfig{}), QueueLeaseExpired))
	msg.Ack()
	if msg.UUID != "early" {
		t.Errorf("received %s", msg.UUID)
	}
}

// TestDelayedAgain passes a message through the delay levels several times, as a
// retry does. With the broker's headers copied it would be taken for a cycle.
func TestDelayedAgain(t *testing.T) {
	b := newBroker(t)
	p := b.publisher(t)
	messages := subscribe(t, b.subscriber(t, SubscriberConfig{}), QueueClaims)
	publishAll(t, p, []Publication{delayed("again", QueueClaims, time.Second)})
	for range 3 {
		msg := receive(t, messages)
		next := publicationOf(msg)
		next.DelayQueue, next.Delay = QueueClaims, time.Second
		publishAll(t, p, []Publication{next})
		msg.Ack()
	}
	msg := receive(t, messages)
	msg.Ack()
	if msg.UUID != "again" {
		t.Errorf("received %s", msg.UUID)
	}
}
