package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const (
	followed = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ignored  = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	other    = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

// recorder keeps its spans also after the tracer was closed.
type recorder struct{ spans tracetest.SpanStubs }

func (r *recorder) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	r.spans = append(r.spans, tracetest.SpanStubsFromReadOnlySpans(spans)...)
	return nil
}

func (r *recorder) Shutdown(context.Context) error { return nil }

// record has work done under a tracer and gives its spans by name.
func record(t *testing.T, options Options, work func(*Tracer)) map[string]tracetest.SpanStub {
	t.Helper()
	var r recorder
	tracer := New(&r, options)
	work(tracer)
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	byName := map[string]tracetest.SpanStub{}
	for _, span := range r.spans {
		if _, twice := byName[span.Name]; twice {
			t.Errorf("two spans are called %q", span.Name)
		}
		byName[span.Name] = span
	}
	return byName
}

// way is a message's whole way; the result is what its event names.
func way(tracer *Tracer, traceParent string) (out string) {
	out = traceParent
	consumed := tracer.Consume(Message{
		Queue: "coupon-orders", ID: "m1", Type: "order.placed.v1", TraceParent: traceParent, Attempt: 2, Size: 10,
		Began: time.Now(),
	})
	if consumed != nil {
		out = consumed.TraceParent()
		defer consumed.Settle("ACK", "OK", false)
		defer consumed.Submit(1)()
	}
	if end := tracer.Batch([]string{"", other, out}); end != nil {
		end(1, "")
	}
	own, end := tracer.Publish(Publication{
		Exchange: "coupon.events", ID: "e1", Type: "coupon.locked.v1", TraceParent: out, Size: 20,
	})
	if end != nil {
		end("")
	}
	return own
}

func TestTheWayOfAMessageIsOneTrace(t *testing.T) {
	var out string
	spans := record(t, Options{HeedSender: true}, func(tracer *Tracer) { out = way(tracer, followed) })
	consume, send := spans["process coupon-orders"], spans["send coupon.events"]
	parents := map[string]string{}
	for name, span := range spans {
		parents[name] = span.Parent.SpanID().String()
	}
	want := map[string]string{
		"process coupon-orders": "00f067aa0ba902b7",
		"submit":                consume.SpanContext.SpanID().String(),
		"batch":                 "b7ad6b7169203331",
		"send coupon.events":    consume.SpanContext.SpanID().String(),
	}
	if diff := cmp.Diff(want, parents); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	if wanted := fmt.Sprintf("00-4bf92f3577b34da6a3ce929d0e0e4736-%s-01", send.SpanContext.SpanID()); out != wanted {
		t.Errorf("goes out with %s, want %s", out, wanted)
	}
	if consume.SpanKind != trace.SpanKindConsumer || send.SpanKind != trace.SpanKindProducer {
		t.Errorf("kinds are %v and %v", consume.SpanKind, send.SpanKind)
	}
	var links []string
	for _, link := range spans["batch"].Links {
		links = append(links, link.SpanContext.SpanID().String())
	}
	if diff := cmp.Diff([]string{"b7ad6b7169203331", consume.SpanContext.SpanID().String()}, links); diff != "" {
		t.Errorf("links of the batch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"messaging.system": "rabbitmq", "messaging.destination.name": "coupon-orders", "messaging.message.id": "m1",
		"messaging.operation.type": "process", "messaging.operation.name": "process", "messaging.message.body.size": "10",
		"couponlease.message.type": "order.placed.v1", "couponlease.message.attempt": "2", "couponlease.action": "ACK",
		"couponlease.code": "OK",
	}, attributes(consume)); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if got := attributes(spans["batch"]); got["couponlease.batch.size"] != "3" || got["couponlease.batch.attempts"] != "1" {
		t.Errorf("attributes of the batch: %v", got)
	}
}

func attributes(span tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, attribute := range span.Attributes {
		all[string(attribute.Key)] = attribute.Value.Emit()
	}
	return all
}

func TestWhoIsFollowed(t *testing.T) {
	tests := []struct {
		name     string
		options  Options
		incoming string
		follows  bool
	}{
		{"the sender says yes", Options{HeedSender: true}, followed, true},
		{"the sender says no", Options{HeedSender: true, Share: 1}, ignored, false},
		{"the sender says nothing, all are followed", Options{HeedSender: true, Share: 1}, "", true},
		{"the sender says nothing, nobody is followed", Options{HeedSender: true}, "", false},
		{"the sender's yes does not count", Options{}, followed, false},
		{"the sender's no does not count", Options{Share: 1}, ignored, true},
		{"what is no context begins anew", Options{HeedSender: true, Share: 1}, "00-nonsense-01", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out string
			spans := record(t, test.options, func(tracer *Tracer) { out = way(tracer, test.incoming) })
			if _, follows := spans["process coupon-orders"]; follows != test.follows {
				t.Errorf("followed: %v, want %v", follows, test.follows)
			}
			if passed := out == test.incoming; passed == test.follows {
				t.Errorf("%q goes out, with %q in", out, test.incoming)
			}
		})
	}
}

// Of what begins here about the share is followed, all of its way.
func TestTheShareIsFollowed(t *testing.T) {
	for name, heed := range map[string]bool{"parent": true, "share": false} {
		t.Run(name, func(t *testing.T) {
			const messages = 4000
			var r recorder
			tracer := New(&r, Options{Share: 0.1, HeedSender: heed})
			begun := 0
			for range messages {
				consumed := tracer.Consume(Message{Queue: "q"})
				if consumed == nil {
					continue
				}
				begun++
				consumed.Submit(1)()
				if own, end := tracer.Publish(Publication{TraceParent: consumed.TraceParent()}); end == nil {
					t.Fatalf("the event of a message that is followed is not: %s", own)
				}
			}
			// Ten standard deviations: it does not happen by chance.
			if begun < 210 || begun > 590 {
				t.Errorf("%d of %d are followed, want about a tenth", begun, messages)
			}
			if err := tracer.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestNoTracerPassesThrough(t *testing.T) {
	var off *Tracer
	if got := way(off, followed); got != followed {
		t.Errorf("%q goes out, want %q", got, followed)
	}
	if err := off.Close(t.Context()); err != nil {
		t.Error(err)
	}
	contexts := []string{followed}
	if allocations := testing.AllocsPerRun(100, func() {
		off.Consume(Message{TraceParent: followed})
		off.Batch(contexts[:0])
		off.Publish(Publication{TraceParent: followed})
	}); allocations != 0 {
		t.Errorf("%v allocations while nothing is traced", allocations)
	}
}

func TestFailuresAreSeen(t *testing.T) {
	spans := record(t, Options{HeedSender: true}, func(tracer *Tracer) {
		tracer.Consume(Message{Queue: "q", TraceParent: followed}).Settle("BURY", "ID_REUSE", true)
		tracer.Batch([]string{followed})(2, "transient")
		_, end := tracer.Publish(Publication{TraceParent: followed})
		end("returned")
	})
	for name, code := range map[string]string{"process q": "ID_REUSE", "batch": "transient", "send reply": "returned"} {
		if span := spans[name]; span.Status.Description != code || attributes(span)["error.type"] != code {
			t.Errorf("%s: status %+v, attributes %v, want %s", name, span.Status, attributes(span), code)
		}
	}
}

// A batch may be larger than what a span may link to, and an attribute longer than what
// a collector takes.
func TestSpansAreBounded(t *testing.T) {
	contexts := make([]string, 3*linksMost)
	for i := range contexts {
		contexts[i] = followed
	}
	spans := record(t, Options{HeedSender: true}, func(tracer *Tracer) {
		tracer.Batch(contexts)(1, "")
		tracer.Consume(Message{Queue: "q", ID: strings.Repeat("x", 10*valueMost), TraceParent: followed}).Settle("ACK", "OK", false)
	})
	if got := len(spans["batch"].Links); got != linksMost {
		t.Errorf("%d links, want %d", got, linksMost)
	}
	if got := len(attributes(spans["process q"])["messaging.message.id"]); got != valueMost {
		t.Errorf("an attribute of %d bytes, want %d", got, valueMost)
	}
}

// broken cannot deliver.
type broken struct{ recorder }

func (*broken) ExportSpans(context.Context, []sdk.ReadOnlySpan) error {
	return errors.New("the collector is away")
}

func TestLostSpansAreToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := &reporter{exporter: &broken{}, log: slog.New(slog.NewTextHandler(&log, nil))}
		for range 90 {
			if err := r.ExportSpans(t.Context(), make([]sdk.ReadOnlySpan, 2)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if got := strings.Count(log.String(), "traces could not be delivered"); got != 2 {
			t.Errorf("told %d times in 90 s, want 2:\n%s", got, &log)
		}
		if !strings.Contains(log.String(), "spans=120 ") {
			t.Errorf("the log does not count the spans of a minute:\n%s", &log)
		}
	})
}

func BenchmarkWay(b *testing.B) {
	for _, bench := range []struct {
		name    string
		tracer  *Tracer
		context string
	}{
		{"off", nil, ignored},
		{"1 % of all", New(&recorder{}, Options{Share: 0.01, HeedSender: true}), ""},
		{"not followed", New(&recorder{}, Options{HeedSender: true}), ignored},
		{"followed", New(&recorder{}, Options{HeedSender: true}), followed},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				consumed := bench.tracer.Consume(Message{Queue: "q", ID: "m", TraceParent: bench.context})
				if consumed != nil {
					consumed.Submit(1)()
					consumed.Settle("ACK", "OK", false)
				}
				if _, end := bench.tracer.Publish(Publication{Exchange: "e", TraceParent: bench.context}); end != nil {
					end("")
				}
			}
		})
	}
}
