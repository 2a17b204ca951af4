package telemetry

// Names of what is measured about messages on their way in, and about what waits.
const (
	Consumed         = "couponlease_consumed_total"
	Answered         = "couponlease_answered_total"
	CriticalSeconds  = "couponlease_critical_seconds"
	DeliveryAttempts = "couponlease_delivery_attempts"
	Redelivered      = "couponlease_redelivered_total"
	IDReused         = "couponlease_id_reused_total"
	DelayLag         = "couponlease_delay_lag_seconds"
	ConfirmSeconds   = "couponlease_confirm_seconds"
	Replayed         = "couponlease_replayed_total"

	InboxRows         = "couponlease_inbox_rows"
	InboxOldest       = "couponlease_inbox_oldest_seconds"
	TimersOverdue     = "couponlease_timers_overdue"
	DeadLettersOpen   = "couponlease_dead_letters_open"
	DeadLettersOldest = "couponlease_dead_letters_oldest_seconds"
	DeadQueue         = "couponlease_dead_queue_messages"
	Undeliverable     = "couponlease_undeliverable_messages"
	OldestSnapshot    = "couponlease_oldest_snapshot_seconds"
)

func flowMetrics() []Metric {
	return []Metric{
		{Name: Consumed, Kind: Counter, Labels: []string{"type", "outcome"},
			Help: "Messages by what they did: applied, duplicate, stale, conflict (answered with a refusal), " +
				"deferred (tried again later), returned (given back to the queue), dead."},
		{Name: Answered, Kind: Counter, Labels: []string{"command", "outcome"},
			Help: "Commands by how they were answered: applied, unchanged, refused, repeated."},
		{Name: CriticalSeconds, Kind: Histogram, Labels: []string{"type"},
			Help:    "Time from when it happened, by the message itself, until it was applied, in seconds.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86400}},
		{Name: DeliveryAttempts, Kind: Histogram, Labels: []string{"queue"},
			Help:    "How often a message had been tried when it was settled for good.",
			Buckets: []float64{1, 2, 3, 4, 5, 8, 16}},
		{Name: Redelivered, Kind: Counter, Labels: []string{"queue"},
			Help: "Messages that the broker had delivered before. It moves when replicas die or connections break."},
		{Name: IDReused, Kind: Counter, Labels: []string{"type"},
			Help: "Messages whose id was used for another body before. Each is a mistake of its sender."},
		{Name: DelayLag, Kind: Histogram, Labels: []string{"queue"},
			Help:    "How much later than it was due a delayed message was taken, in seconds.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180, 600, 3600}},
		{Name: ConfirmSeconds, Kind: Histogram,
			Help:    "Time from handing a batch of messages to the broker until it has confirmed or refused all, in seconds.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}},
		{Name: Replayed, Kind: Counter, Labels: []string{"outcome"},
			Help: "Replayed dead letters by what came of them: applied, duplicate, stale, failed_again."},
		{Name: InboxRows, Kind: Gauge, Kept: true, Help: "Messages that are remembered by id, an estimate."},
		{Name: InboxOldest, Kind: Gauge, Kept: true,
			Help: "Age of the oldest day of the inbox, in seconds. It should stay a little above the retention."},
		{Name: TimersOverdue, Kind: Gauge, Kept: true,
			Help: "Leases still held that should have ended a while ago, among the last 20000 timers. It should be 0."},
		{Name: DeadLettersOpen, Kind: Gauge, Labels: []string{"reason"}, Kept: true,
			Help: "Dead letters that nobody has dealt with."},
		{Name: DeadLettersOldest, Kind: Gauge, Labels: []string{"reason"}, Kept: true,
			Help: "How long ago the oldest of them was filed, in seconds."},
		{Name: DeadQueue, Kind: Gauge, Kept: true,
			Help: "Dead letters in the broker that are not filed yet. It grows when no replica files them."},
		{Name: Undeliverable, Kind: Gauge, Kept: true,
			Help: "Delayed messages whose queue is gone. It must be 0."},
		{Name: OldestSnapshot, Kind: Gauge, Kept: true,
			Help: "How long the oldest transaction in the database has kept dead rows from being cleaned up, in seconds."},
	}
}
