package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/outbox"
	"couponlease/internal/simulate"
	"couponlease/messages"
)

// till is a consumer on an engine in memory, and what askers get from it.
type till struct {
	t        *testing.T
	ledger   *simulate.Ledger
	consumer *consumer
	// queued are the replies that the engine left in the outbox, sent those that went
	// out without it.
	queued, sent []outbox.Message
	sendError    error
	lookupError  error
	asked        []string // what the memory was asked
	count        int
}

// PublishBatch takes replies that pass the outbox by.
func (w *till) PublishBatch(_ context.Context, list []outbox.Message, _ time.Time) []error {
	if w.sendError == nil {
		w.sent = append(w.sent, list...)
	}
	errs := make([]error, len(list))
	for i := range errs {
		errs[i] = w.sendError
	}
	return errs
}

// Answer looks an answer up, unless the database is away.
func (w *till) Answer(ctx context.Context, key string) (*coupon.Answer, error) {
	if w.lookupError != nil {
		return nil, w.lookupError
	}
	return w.ledger.Answer(ctx, key)
}

// memory is what Redis says.
type memory func(key string) bool

func (m memory) Seen(_ context.Context, key string) bool { return m(key) }

// remembers is a Redis as it should be.
func remembers() func(string) bool {
	seen := map[string]bool{}
	return func(key string) bool {
		was := seen[key]
		seen[key] = true
		return was
	}
}

func newTill(t *testing.T, seen func(key string) bool) *till {
	t.Helper()
	w := &till{t: t}
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	w.ledger = simulate.NewLedger(func() time.Time { return now }, coupon.DefaultRules(), simulate.NewSource("till"))
	encode := func(changes *coupon.Changes) ([]coupon.OutboxRow, error) {
		for _, reply := range changes.Replies {
			m, err := handlers.ReplyMessage(reply)
			if err != nil {
				return nil, err
			}
			w.queued = append(w.queued, m)
		}
		return nil, nil
	}
	e := engine.New(w.ledger, encode, engine.Options{})
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	cfg := Config{ReplyQueues: []string{"till", "checkout"}, Engine: e, Logger: slog.New(slog.DiscardHandler)}
	if seen != nil {
		ask := func(key string) bool {
			w.asked = append(w.asked, key)
			return seen(key)
		}
		cfg.Repeats = NewRepeats(RepeatsConfig{
			Memory: memory(ask), Answers: w, Replies: w, Logger: cfg.Logger,
			ID: w.ledger.Source.ID,
		})
	}
	w.consumer = &consumer{Config: cfg, queue: "commands", table: handlers.Table(), judge: tiers}
	for _, fact := range []coupon.Fact{
		coupon.DefineTemplate{Template: coupon.Template{
			ID: "T",
			Terms: coupon.Terms{
				Status: coupon.TemplateActive, Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit, PolicyVersion: 1,
			},
		}},
		coupon.ImportCoupon{Code: "C1", Template: "T"}, coupon.ImportCoupon{Code: "C2", Template: "T"},
	} {
		if _, err := e.Submit(t.Context(), coupon.Request{At: now, Actor: "test", Fact: fact}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// ask has a message handled, whose answer goes to a queue ("" for none), and returns
// the answer that was given for it.
func (w *till) ask(kind, replyTo, data string) (string, Verdict) {
	w.t.Helper()
	w.count++
	msg := message.NewMessage(fmt.Sprintf("m%d", w.count), []byte(data))
	msg.Metadata.Set(amqp.MetaType, kind)
	msg.Metadata.Set(amqp.MetaTimestamp, "2026-05-04T12:00:00Z")
	msg.Metadata.Set(amqp.MetaReplyTo, replyTo)
	msg.Metadata.Set(amqp.MetaCorrelationID, fmt.Sprintf("correlation %d", w.count))
	before := len(w.queued) + len(w.sent)
	settled, _ := w.consumer.settle(msg, time.Now())
	verdict := settled.Verdict
	if verdict.Action != Ack {
		w.t.Fatalf("%s %s: %+v, want it acknowledged", kind, data, verdict)
	}
	if len(w.queued)+len(w.sent) == before {
		return "", verdict
	}
	reply := w.last()
	if reply.Key != replyTo || reply.CorrelationID != fmt.Sprintf("correlation %d", w.count) || reply.Exchange != "" {
		w.t.Errorf("the answer goes to %q/%q with %q", reply.Exchange, reply.Key, reply.CorrelationID)
	}
	text, err := json.Marshal(struct {
		Body json.RawMessage
		Seal *outbox.Seal
	}{reply.Body, reply.Seal})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text), verdict
}

// last is the newest answer: one that is sent comes with no other.
func (w *till) last() outbox.Message {
	if len(w.sent) > 0 {
		m := w.sent[len(w.sent)-1]
		w.sent = w.sent[:0]
		w.queued = append(w.queued, m)
		return m
	}
	return w.queued[len(w.queued)-1]
}

func requested(id, code string) string { return fmt.Sprintf(`{"requestId":%q,"code":%q}`, id, code) }

func TestARepeatedRequestIsAnsweredWithoutTheEngine(t *testing.T) {
	w := newTill(t, remembers())
	first, verdict := w.ask(messages.TypeRedeemRequested, "till-1", requested("R1", "C1"))
	if verdict.Reason != string(coupon.OK) || w.consumer.Repeats.Answered() != 0 {
		t.Fatalf("the first request: %+v, %d answered without the engine", verdict, w.consumer.Repeats.Answered())
	}
	w.ledger.Fail(errors.New("the engine was asked"))
	again, verdict := w.ask(messages.TypeRedeemRequested, "till-2", requested("R1", "C1"))
	if diff := cmp.Diff(first, again); diff != "" || verdict.Reason != string(coupon.Duplicate) {
		t.Errorf("verdict %+v, answer (-first +again):\n%s", verdict, diff)
	}
	if _, verdict := w.ask(messages.TypeRedeemRequested, "", requested("R1", "C1")); verdict.Reason != string(coupon.Duplicate) {
		t.Errorf("without an asker: %+v", verdict)
	}
	if n := w.consumer.Repeats.Answered(); n != 2 {
		t.Errorf("%d answered without the engine, want 2", n)
	}
	if diff := cmp.Diff([]string{"RDR1", "RDR1", "RDR1"}, w.asked); diff != "" {
		t.Errorf("the memory was asked (-want +got):\n%s", diff)
	}
}

func TestTheEngineIsAskedWhen(t *testing.T) {
	tests := []struct {
		name   string
		seen   func(string) bool
		change func(*till)
		data   string
		want   coupon.Code
	}{
		{"the memory forgot", func(string) bool { return false }, func(*till) {}, requested("R1", "C1"), coupon.Duplicate},
		{"the memory is wrong", func(string) bool { return true }, func(*till) {}, requested("R2", "C2"), coupon.OK},
		{"the content is another", func(string) bool { return true }, func(*till) {}, requested("R1", "C2"), coupon.IdempotencyMismatch},
		{"the first answer cannot be looked up", func(string) bool { return true },
			func(w *till) { w.lookupError = errors.New("no connection") }, requested("R1", "C1"), coupon.Duplicate},
		{"the answer cannot be sent", func(string) bool { return true },
			func(w *till) { w.sendError = errors.New("no confirmation") }, requested("R1", "C1"), coupon.Duplicate},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newTill(t, test.seen)
			w.ask(messages.TypeRedeemRequested, "till", requested("R1", "C1"))
			test.change(w)
			reply, verdict := w.ask(messages.TypeRedeemRequested, "till", test.data)
			if verdict.Reason != string(test.want) || reply == "" {
				t.Errorf("verdict %+v, answer %s, want %s", verdict, reply, test.want)
			}
			if n := w.consumer.Repeats.Answered(); n != 0 {
				t.Errorf("%d answered without the engine, want none", n)
			}
		})
	}
}

func TestOnlyTillsAreRemembered(t *testing.T) {
	w := newTill(t, func(string) bool { return true })
	const lock = `{"idempotencyKey":"K1","code":"C1","orderId":"O1"}`
	first, _ := w.ask(messages.TypeLockCoupon, "checkout", lock)
	again, verdict := w.ask(messages.TypeLockCoupon, "checkout", lock)
	if first != again || verdict.Reason != string(coupon.Duplicate) || len(w.asked) > 0 {
		t.Errorf("verdict %+v, the memory was asked %q, answers\n%s\n%s", verdict, w.asked, first, again)
	}
}

// Whatever Redis says, tills get the same answers and the coupons the same history.
func TestTheMemoryNeverChangesAnAnswer(t *testing.T) {
	conversation := []struct{ kind, data string }{
		{messages.TypeRedeemRequested, requested("R1", "C1")},
		{messages.TypeRedeemRequested, requested("R1", "C1")},
		{messages.TypeRedeemRequested, requested("R2", "C1")}, // another till is late
		{messages.TypeRedeemRequested, requested("R1", "C2")}, // another content
		{messages.TypeRedeemRequested, requested("R2", "C1")},
		{messages.TypeRedeemRequested, requested("R3", "NO-SUCH-CODE")},
		{messages.TypeRedeemRequested, requested("R3", "NO-SUCH-CODE")},
		{messages.TypeLockCoupon, `{"idempotencyKey":"K4","code":"C2","orderId":"O1"}`},
		{messages.TypeRedeemRequested, requested("R4", "C2")}, // somebody has the coupon
		{messages.TypeRedeemRequested, requested("R1", "C1")},
	}
	type told struct {
		Answers   []string
		Histories []coupon.History
	}
	tell := func(seen func(string) bool) (all told) {
		w := newTill(t, seen)
		for _, m := range conversation {
			reply, _ := w.ask(m.kind, "till", m.data)
			all.Answers = append(all.Answers, reply)
		}
		for _, id := range []string{"C1", "C2"} {
			history, found, err := w.ledger.History(t.Context(), coupon.Fold(id))
			if err != nil || !found {
				t.Fatalf("history of %s: found %t, error %v", id, found, err)
			}
			all.Histories = append(all.Histories, history)
		}
		return all
	}
	want := tell(nil)
	for name, seen := range map[string]func(string) bool{
		"gone": func(string) bool { return false }, "wrong": func(string) bool { return true }, "well": remembers(),
	} {
		if diff := cmp.Diff(want, tell(seen)); diff != "" {
			t.Errorf("a Redis that is %s (-none +%s):\n%s", name, name, diff)
		}
	}
}
