package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Options say who is followed, and what this process is called.
type Options struct {
	// Share of what begins here that is followed, 0 to 1.
	Share float64
	// HeedSender lets the context of a message decide, if it has one; else Share goes for
	// all traces alike.
	HeedSender bool
	// Service, Version and Instance name this process.
	Service, Version, Instance string
	// Logger is told when spans cannot be delivered. Nil discards.
	Logger *slog.Logger
}

// Tracer makes spans. It is safe for concurrent use; nil makes none.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	options  Options
}

// Limits on what waits to be exported; what comes on top is dropped, and never waits.
const (
	queueMost     = 4096
	batchMost     = 512
	exportEvery   = 2 * time.Second
	exportTimeout = 10 * time.Second
	valueMost     = 256 // bytes of an attribute
	linksMost     = 256
)

// New makes a tracer that hands its spans to an exporter, in the background. Close ends
// it.
func New(exporter sdk.SpanExporter, options Options) *Tracer {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	sampler := sdk.TraceIDRatioBased(options.Share)
	if options.HeedSender {
		sampler = sdk.ParentBased(sdk.AlwaysSample()) // mayFollow has drawn
	}
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit, limits.LinkCountLimit = valueMost, linksMost
	provider := sdk.NewTracerProvider(
		sdk.WithSampler(sampler),
		sdk.WithRawSpanLimits(limits),
		sdk.WithResource(resource.NewSchemaless(
			semconv.ServiceName(options.Service), semconv.ServiceVersion(options.Version),
			semconv.ServiceInstanceID(options.Instance),
		)),
		sdk.WithBatcher(&reporter{exporter: exporter, log: options.Logger},
			sdk.WithMaxQueueSize(queueMost), sdk.WithMaxExportBatchSize(batchMost),
			sdk.WithBatchTimeout(exportEvery), sdk.WithExportTimeout(exportTimeout)),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("couponlease"), options: options}
}

// Close exports what is left and takes no more.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("export the last spans: %w", err)
	}
	return nil
}

// header is the name under which messages carry their context.
const header = "traceparent"

// parse gives a context that continues a W3C traceparent. One that is no good continues
// nothing.
func parse(traceParent string) context.Context {
	if traceParent == "" {
		return context.Background()
	}
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{header: traceParent})
}

// format is the reverse of parse, for a span.
func format(span trace.Span) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), span), carrier)
	return carrier[header]
}

// mayFollow says whether a message with a traceparent, or with "", may be followed. Most
// are not, and it costs less to find that out here than to begin a span.
func (t *Tracer) mayFollow(traceParent string) bool {
	switch {
	case !t.options.HeedSender:
		return true // it goes by the id of the trace
	case len(traceParent) == contextLength:
		return isFollowed(traceParent)
	default:
		return rand.Float64() < t.options.Share
	}
}

// contextLength is that of a traceparent of version 00.
const contextLength = len("00-") + 32 + len("-") + 16 + len("-01")

// isFollowed reads the sampled flag of a traceparent, without parsing the rest.
func isFollowed(traceParent string) bool {
	if len(traceParent) != contextLength {
		return false
	}
	switch traceParent[contextLength-1] {
	case '1', '3', '5', '7', '9', 'b', 'd', 'f':
		return true
	}
	return false
}

// rabbitmq are attributes of all spans about messages.
func rabbitmq(destination, id, messageType string, more ...attribute.KeyValue) []attribute.KeyValue {
	return append(more,
		semconv.MessagingSystemRabbitMQ, semconv.MessagingDestinationName(destination),
		semconv.MessagingMessageID(id), attribute.String("couponlease.message.type", messageType))
}
