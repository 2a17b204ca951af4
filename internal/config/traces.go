package config

import "strconv"

// Values of --trace-sampler.
const (
	TraceParent = "parent"
	TraceShare  = "share"
)

// Traces says which messages are traced, and where their spans go.
type Traces struct {
	TraceEndpoint string `name:"trace-endpoint" env:"COUPONLEASE_TRACE_ENDPOINT,OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" redact:"" form:"url" schemes:"http https" group:"Traces" help:"OpenTelemetry collector that takes OTLP over HTTP, as http://host:4318. Empty: nothing is traced, and contexts of messages are passed on as they came."`

	TraceSampler string `name:"trace-sampler" env:"COUPONLEASE_TRACE_SAMPLER" default:"parent" oneof:"parent share" group:"Traces" help:"Which messages are traced: parent does what the context of a message says, and takes a share of those without one; share takes a share of all."`

	TraceShare string `name:"trace-share" env:"COUPONLEASE_TRACE_SHARE" default:"0.01" form:"share" group:"Traces" help:"Share of messages that are traced, from 0 to 1."`
}

// HeedSender says whether the context of a message decides.
func (t Traces) HeedSender() bool { return t.TraceSampler == TraceParent }

// Share is --trace-share as a number. Text that is none was reported before.
func (t Traces) Share() float64 {
	share, _ := strconv.ParseFloat(t.TraceShare, 64)
	return share
}
