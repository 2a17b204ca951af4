package daemon

import (
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/telemetry"
	"couponlease/messages"
	"couponlease/router"
)

// observer counts what became of messages.
type observer struct {
	metrics *telemetry.Registry
	known   map[string]bool
}

func newObserver(metrics *telemetry.Registry) observer {
	o := observer{metrics: metrics, known: map[string]bool{}}
	for _, contract := range messages.Contracts() {
		o.known[contract.Type] = true
	}
	return o
}

// Settled implements router.Observer. Types come from outside: those nobody knows
// are counted together.
func (o observer) Settled(
	queue, messageType string, verdict router.Verdict, _ []coupon.Outcome, took time.Duration,
) {
	if !o.known[messageType] {
		messageType = telemetry.Other
	}
	o.metrics.Add(telemetry.MessagesSettled, 1, queue, messageType, string(verdict.Action), verdict.Reason)
	o.metrics.Observe(telemetry.MessageSeconds, took.Seconds(), queue)
}
