package client

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/messages"
)

// grudging gives the URL of a broker that never confirms anything, and is otherwise as
// the shop's.
func (s *shop) grudging() string {
	s.Helper()
	u, err := url.Parse(s.broker.URL)
	s.must(err)
	target := u.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { relay(client, target) })
		}
	})
	s.Cleanup(func() {
		_ = listener.Close()
		relays.Wait() // the client, which was made later, is closed by now
	})
	u.Host = listener.Addr().String()
	return u.String()
}

// relay passes everything on until one side ends, but no confirmations.
func relay(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		defer client.Close()
		withoutConfirmations(client, server)
	})
	_, _ = io.Copy(server, client) // an error is an end
	_ = server.Close()
	back.Wait()
}

// withoutConfirmations copies AMQP frames, but no basic.ack. A frame is type, channel
// and size, the payload, and an end mark; a method's payload begins with its number.
func withoutConfirmations(to io.Writer, from io.Reader) {
	const method, head, endMark = 1, 7, 1
	ack := []byte{0, 60, 0, 80}
	for {
		frame := make([]byte, head)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		rest := make([]byte, int(binary.BigEndian.Uint32(frame[3:]))+endMark)
		if _, err := io.ReadFull(from, rest); err != nil {
			return
		}
		if frame[0] == method && bytes.HasPrefix(rest, ack) {
			continue
		}
		if _, err := to.Write(append(frame, rest...)); err != nil {
			return
		}
	}
}

// TestABrokerThatConfirmsNothing: answers come, and receipts would pile up. The session
// is ended before that, and what was under way is sent over the next.
func TestABrokerThatConfirmsNothing(t *testing.T) {
	s := newShop(t, nil)
	address := s.grudging()
	c := s.client(func(o *Options) { o.URL, o.MaxInFlight = address, 1 })
	first, err := c.usable(patient(t))
	s.must(err)
	for range owedPerCall {
		answered := s.locking(patient(t), c, "")
		s.answer(s.take(commandQueue), messages.CommandReply{Outcome: "OK"})
		s.must((<-answered).err)
	}
	select {
	case <-first.lost:
		t.Fatalf("the session was ended too early: %v", first.reason)
	default:
	}
	answered := s.locking(patient(t), c, "key-1")
	d := s.take(commandQueue)
	select {
	case <-first.lost:
	case <-patient(t).Done():
		t.Fatal("the session goes on")
	}
	if !errors.Is(first.reason, errOwed) || !strings.Contains(first.reason.Error(), "4 messages") {
		t.Errorf("the session was ended because: %v", first.reason)
	}
	s.answer(d, messages.CommandReply{Outcome: "OK", State: "over the next"})
	if got := <-answered; got.err != nil || got.reply.State != "over the next" {
		t.Errorf("got %+v, want the answer over the next session", got)
	}
	// A fact has nothing but its confirmation.
	failure(t, c.Publish(hasty(t), "id-1", closed), context.DeadlineExceeded, true, "id-1")
}

func TestWhatABrokerMayOwe(t *testing.T) {
	now := time.Now()
	full := func(at time.Time) *session {
		s := &session{limit: 2, pending: map[uint64]*receipt{}}
		for tag := range uint64(2 * owedPerCall) {
			if !s.note(tag+1, &receipt{id: "id", at: at}) {
				t.Fatalf("message %d was turned away", tag+1)
			}
		}
		return s
	}
	s := full(now.Add(-owedFor))
	if err := s.owed(now); err != nil {
		t.Errorf("as much as it may, for as long as it may: %v", err)
	}
	if err := s.owed(now.Add(time.Nanosecond)); !errors.Is(err, errOwed) {
		t.Errorf("for too long: got %v", err)
	}
	s = full(now)
	if s.note(100, &receipt{at: now}) || len(s.pending) != 2*owedPerCall {
		t.Errorf("it keeps %d receipts", len(s.pending))
	}
	for tag := range uint64(2 * owedPerCall) {
		s.pending[tag+1].settled = make(chan error, 1)
		s.settle(amqp091.Confirmation{DeliveryTag: tag + 1, Ack: true})
	}
	// Whoever was turned away waits for the end of the session.
	if err := s.owed(now); !errors.Is(err, errOwed) {
		t.Errorf("after a message was turned away: got %v", err)
	}
}
