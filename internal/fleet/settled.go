package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/testkit"
)

// settleLimit is how long the traffic of a test may take to be worked off.
const settleLimit = 5 * time.Minute

// Background is a publication that goes on beside the test.
type Background struct {
	done sync.WaitGroup
	err  error
}

// PublishInBackground publishes while the test goes on.
func PublishInBackground(t testing.TB, space *Space, publications []amqp.Publication) *Background {
	b := &Background{}
	b.done.Go(func() { b.err = space.publish(publications) })
	return b
}

// Wait waits until everything is with the broker.
func (b *Background) Wait(t testing.TB) {
	t.Helper()
	b.done.Wait()
	must(t, b.err, "publish in the background")
}

// count runs a query that gives one number. A database that does not answer at
// the moment gives an error.
func (s *Space) count(sql string, args ...any) (n int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.PostgresURL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, sql, args...).Scan(&n)
	return n, err
}

const (
	receiptsSQL = "select count(*) from inbox"
	outboxSQL   = "select count(*) from coupon_outbox"
	answerSQL   = "select coalesce((select code from inbox where message_id = $1), '')"
)

// Receipts is the number of distinct messages answered so far.
func (s *Space) Receipts(t testing.TB) int {
	t.Helper()
	n, err := s.count(receiptsSQL)
	must(t, err, "count receipts")
	return n
}

// WaitForReceipts waits until so many distinct messages are answered.
func (s *Space) WaitForReceipts(t testing.TB, want int) {
	t.Helper()
	testkit.Eventually(t, settleLimit, fmt.Sprintf("%d messages are answered", want), func() (bool, string) {
		n, err := s.count(receiptsSQL)
		return err == nil && n >= want, fmt.Sprintf("%d answered, error %v", n, err)
	})
}

// WaitForSettled waits until every one of the messages is answered, every queue
// is empty and every outbox row is published.
func (s *Space) WaitForSettled(t testing.TB, publications []amqp.Publication) {
	t.Helper()
	ids := map[string]bool{}
	for i := range publications {
		ids[publications[i].ID] = true
	}
	s.WaitForReceipts(t, len(ids))
	testkit.Eventually(t, settleLimit, "outbox and queues are empty", func() (bool, string) {
		pending, err := s.count(outboxSQL)
		if err != nil {
			return false, err.Error()
		}
		waiting := s.Waiting(t)
		return pending == 0 && waiting == 0, fmt.Sprintf("%d outbox rows, %d messages waiting", pending, waiting)
	})
}

// Waiting is the number of facts that wait in the queues and are with nobody.
func (s *Space) Waiting(t testing.TB) int {
	t.Helper()
	var waiting int
	for _, queue := range []string{
		amqp.QueueOrderPlaced, amqp.QueuePaymentSucceeded, amqp.QueueOrderClosed, amqp.QueueRefundApproved,
	} {
		waiting += s.Broker.QueueDepth(t, queue)
	}
	return waiting
}

// Answer is the stored answer of a message, "" if there is none.
func (s *Space) Answer(t testing.TB, id string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.PostgresURL)
	must(t, err, "connect to the database")
	defer conn.Close(ctx)
	var code string
	must(t, conn.QueryRow(ctx, answerSQL, id).Scan(&code), "read the answer of "+id)
	return code
}

// CheckOrders checks that every order left its coupon where its story ends.
func (s *Space) CheckOrders(t testing.TB, orders []Order) {
	t.Helper()
	states := map[string]coupon.State{}
	err := s.Store.EachHistory(context.Background(), func(h coupon.History) error {
		states[h.Coupon.ID] = h.Coupon.State
		return nil
	})
	must(t, err, "read coupons")
	wrong := 0
	for _, order := range orders {
		if got := states[order.Coupon]; got != order.Story.End() {
			if wrong++; wrong <= maxViolations {
				t.Errorf("order %s (%s) left coupon %s %q, want %s", order.ID, order.Story, order.Coupon, got, order.Story.End())
			}
		}
	}
}

// CheckState checks the state of one coupon.
func (s *Space) CheckState(t testing.TB, id string, want coupon.State) {
	t.Helper()
	history, found, err := s.Store.History(context.Background(), id)
	must(t, err, "read coupon "+id)
	if !found || history.Coupon.State != want {
		t.Errorf("coupon %s: found %t, want it %s: %+v", id, found, want, history.Coupon)
	}
}

// CheckEvents checks that the event of every ledger row came out at least once,
// and those of one coupon in the order of its versions.
func (s *Space) CheckEvents(t testing.TB, sink *Sink) {
	t.Helper()
	s.CheckEventsSeen(t, sink)
	for i, coupon := range sink.Disorder() {
		if i < maxViolations {
			t.Errorf("events out of order: %s", coupon)
		}
	}
}

// CheckEventsSeen checks that the event of every ledger row came out at least once, and was
// seen by one of the sinks.
func (s *Space) CheckEventsSeen(t testing.TB, sinks ...*Sink) {
	t.Helper()
	seen := func(operation string) bool {
		return slices.ContainsFunc(sinks, func(sink *Sink) bool { return sink.Seen(operation) })
	}
	var operations []string
	err := s.Store.EachHistory(context.Background(), func(h coupon.History) error {
		for i := range h.Operations {
			if h.Operations[i].Operation != coupon.Issue { // imported before the relay ran
				operations = append(operations, h.Operations[i].ID)
			}
		}
		return nil
	})
	must(t, err, "read the ledger")
	testkit.Eventually(t, settleLimit, "every ledger row has its event", func() (bool, string) {
		missing := 0
		for _, operation := range operations {
			if !seen(operation) {
				missing++
			}
		}
		return missing == 0, fmt.Sprintf("%d of %d are missing", missing, len(operations))
	})
	for _, sink := range sinks {
		t.Logf("%d ledger rows, %d events seen: %v", len(operations), sink.Total(), sink.Types())
	}
}

// DeadLetter is one message that could not be applied.
type DeadLetter struct{ ID, Reason, Error, Queue string }

// DeadLetters waits until so many dead letters are filed, and gives them.
func (s *Space) DeadLetters(t testing.TB, want int) []DeadLetter {
	t.Helper()
	var filed []deadletter.Letter
	testkit.Eventually(t, time.Minute, fmt.Sprintf("%d dead letters", want), func() (bool, string) {
		var err error
		filed, err = s.Store.WholeLetters(context.Background(), deadletter.Filter{}, "", 10_000)
		must(t, err, "read dead letters")
		return len(filed) >= want, fmt.Sprintf("%d dead letters", len(filed))
	})
	letters := make([]DeadLetter, len(filed))
	for i := range filed {
		letters[i] = DeadLetter{filed[i].MessageID, filed[i].Reason, filed[i].Error, filed[i].Queue}
	}
	return letters
}

// CheckNoDeadLetters checks that nothing was buried or undeliverable.
func (s *Space) CheckNoDeadLetters(t testing.TB) {
	t.Helper()
	for _, queue := range []string{amqp.QueueDead, amqp.QueueUndeliverable} {
		if n := s.Broker.QueueDepth(t, queue); n > 0 {
			t.Errorf("%d messages in %s", n, queue)
		}
	}
	if letters := s.DeadLetters(t, 0); len(letters) > 0 {
		t.Errorf("%d dead letters, the first: %+v", len(letters), letters[0])
	}
}
