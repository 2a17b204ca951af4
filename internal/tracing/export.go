package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// retryMost is how long one batch of spans is tried to be delivered; work does not wait
// for it.
const retryMost = 30 * time.Second

// Open makes a tracer that delivers spans by OTLP over HTTP to a collector, whose URL is
// that of OTEL_EXPORTER_OTLP_ENDPOINT: without /v1/traces. Whether it is there is found
// out later. OTEL_EXPORTER_OTLP_HEADERS and _CERTIFICATE are heeded.
func Open(ctx context.Context, endpoint string, options Options) (*Tracer, error) {
	address, err := url.JoinPath(endpoint, "v1", "traces")
	if err != nil {
		return nil, fmt.Errorf("find the address for traces: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(address),
		otlptracehttp.WithTimeout(exportTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: retryMost,
		}))
	if err != nil {
		return nil, fmt.Errorf("prepare the export of traces: %w", err)
	}
	return New(exporter, options), nil
}

// reporter logs what an exporter could not deliver, where the SDK would write to
// standard error by itself.
type reporter struct {
	exporter sdk.SpanExporter
	log      *slog.Logger

	mu   sync.Mutex
	lost int
	told time.Time
}

// tellEvery bounds the log while a collector is away.
const tellEvery = time.Minute

// ExportSpans implements sdk.SpanExporter.
func (r *reporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := r.exporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += len(spans)
	if time.Since(r.told) < tellEvery {
		return nil
	}
	r.log.Warn("traces could not be delivered", "spans", r.lost, "error", err)
	r.lost, r.told = 0, time.Now()
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (r *reporter) Shutdown(ctx context.Context) error { return r.exporter.Shutdown(ctx) }
