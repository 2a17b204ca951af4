package testkit

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector takes traces as an OpenTelemetry collector does, by OTLP over HTTP.
type Collector struct {
	// URL is what OTEL_EXPORTER_OTLP_ENDPOINT would be.
	URL string

	mu    sync.Mutex
	spans []Span
	text  strings.Builder
}

// Span is one that was exported.
type Span struct {
	Name, Kind string
	// Ids are in hex; Parent is empty for a root.
	Trace, ID, Parent string
	// Links are ids of spans.
	Links      []string
	Attributes map[string]string
	Failed     bool
}

// Traces starts a collector that lives as long as the test.
func Traces(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
		request := &collector.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(body, request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.take(request, body)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) take(request *collector.ExportTraceServiceRequest, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(body)
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, readSpan(span))
			}
		}
	}
}

func readSpan(span *wire.Span) Span {
	s := Span{
		Name: span.GetName(), Kind: strings.ToLower(strings.TrimPrefix(span.GetKind().String(), "SPAN_KIND_")),
		Trace: hex.EncodeToString(span.GetTraceId()), ID: hex.EncodeToString(span.GetSpanId()),
		Parent: hex.EncodeToString(span.GetParentSpanId()), Attributes: map[string]string{},
		Failed: span.GetStatus().GetCode() == wire.Status_STATUS_CODE_ERROR,
	}
	for _, link := range span.GetLinks() {
		s.Links = append(s.Links, hex.EncodeToString(link.GetSpanId()))
	}
	for _, attribute := range span.GetAttributes() {
		value := attribute.GetValue()
		s.Attributes[attribute.GetKey()] = value.GetStringValue()
		if s.Attributes[attribute.GetKey()] == "" {
			s.Attributes[attribute.GetKey()] = fmt.Sprint(value.GetIntValue())
		}
	}
	return s
}

// Spans gives what came so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Text gives all that came so far, as it came: texts are in it as they are.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}
