// Package telemetry names everything the daemon measures, in one table, and
// serves it to Prometheus.
//
// Some metrics are counted here (Add, Observe). The others are figures that a
// part of the daemon keeps anyway; they are read from it at each scrape (Read).
// No label can take more than a hundred values.
package telemetry

import "slices"

// Kind is what a metric does over time.
type Kind string

// The kinds of metrics.
const (
	// Counter only grows, until the process starts again.
	Counter Kind = "counter"
	// Gauge goes up and down.
	Gauge Kind = "gauge"
	// Histogram counts observations by size.
	Histogram Kind = "histogram"
)

// Names of the metrics. Units come last; what has none is a number of things.
const (
	MessagesSettled   = "couponlease_messages_settled_total"
	MessageSeconds    = "couponlease_message_seconds"
	BatchRequests     = "couponlease_batch_requests"
	RequestsCommitted = "couponlease_requests_committed_total"
	RequestsQueued    = "couponlease_requests_queued"
	BatchesRetried    = "couponlease_batches_retried_total"
	BatchesHalved     = "couponlease_batches_halved_total"
	EnginePauses      = "couponlease_engine_pauses_total"
	EnginePaused      = "couponlease_engine_paused"

	OutboxOwned     = "couponlease_outbox_owned"
	OutboxPending   = "couponlease_outbox_pending_rows"
	OutboxOldest    = "couponlease_outbox_oldest_seconds"
	OutboxParked    = "couponlease_outbox_parked_rows"
	OutboxLag       = "couponlease_outbox_lag_seconds"
	OutboxPublished = "couponlease_outbox_published_total"
	OutboxReturned  = "couponlease_outbox_returned_total"
	OutboxFailed    = "couponlease_outbox_failed_total"
	OutboxParkings  = "couponlease_outbox_parkings_total"

	OutboxTokensLost = "couponlease_outbox_tokens_lost_total"

	SubscriberConsuming       = "couponlease_subscriber_consuming"
	SubscriberInFlight        = "couponlease_subscriber_in_flight"
	SubscriberDelivered       = "couponlease_subscriber_delivered_total"
	SubscriberRequeued        = "couponlease_subscriber_requeued_total"
	SubscriberDropped         = "couponlease_subscriber_dropped_total"
	SubscriberResubscriptions = "couponlease_subscriber_resubscriptions_total"

	BrokerConnected = "couponlease_broker_connected"
	BrokerBlocked   = "couponlease_broker_blocked"

	SweeperDue       = "couponlease_sweeper_due_total"
	SweeperSubmitted = "couponlease_sweeper_submitted_total"
	SweeperFailed    = "couponlease_sweeper_failed_total"

	RequestsRemembered = "couponlease_requests_remembered_total"
	RequestsRepeated   = "couponlease_requests_repeated_total"
	RedisAway          = "couponlease_redis_away"

	ClaimsAsked    = "couponlease_claims_asked_total"
	ClaimsRefused  = "couponlease_claims_refused_total"
	ClaimsBypassed = "couponlease_claims_bypassed_total"
	QuotaReturned  = "couponlease_quota_returned_total"
	QuotaRestocks  = "couponlease_quota_restocks_total"
	QuotaDrifts    = "couponlease_quota_drifted_campaigns"
	QuotaAway      = "couponlease_quota_away"

	ReviewsOpen = "couponlease_reviews_open"

	Ready = "couponlease_ready"
	Build = "couponlease_build"
)

// Metric is one line of the table.
type Metric struct {
	Name   string
	Kind   Kind
	Labels []string
	// Help is what it says, and when to worry.
	Help string
	// Buckets are the upper bounds of a histogram.
	Buckets []float64
	// Kept figures belong to another part and are read from it at each scrape.
	Kept bool
}

// Table lists all metrics.
func Table() []Metric {
	return slices.Concat(messageMetrics(), flowMetrics(), outboxMetrics(), claimMetrics(), reconcileMetrics(), processMetrics())
}

func messageMetrics() []Metric {
	return []Metric{
		{Name: MessagesSettled, Kind: Counter, Labels: []string{"queue", "type", "action", "code"},
			Help: "Messages by what became of them (ACK, RETRY, BURY, REQUEUE) and the answer. BURY is a dead letter."},
		{Name: MessageSeconds, Kind: Histogram, Labels: []string{"queue"},
			Help:    "Time from taking a message to its verdict, in seconds.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}},
		{Name: BatchRequests, Kind: Histogram,
			Help:    "Requests that shared one committed transaction. Always at the limit means that writers are the limit.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}},
		{Name: RequestsCommitted, Kind: Counter, Kept: true, Help: "Requests answered and committed."},
		{Name: RequestsQueued, Kind: Gauge, Kept: true, Help: "Requests waiting for a transaction."},
		{Name: BatchesRetried, Kind: Counter, Kept: true,
			Help: "Transactions that failed for a reason outside them and were repeated."},
		{Name: BatchesHalved, Kind: Counter, Kept: true,
			Help: "Transactions cut in two to find a request at fault. Each is worth a look."},
		{Name: EnginePauses, Kind: Counter, Help: "Times the database went away and consumption paused."},
		{Name: EnginePaused, Kind: Gauge, Kept: true, Help: "1 while the database is away and consumption pauses."},
		{Name: RequestsRemembered, Kind: Counter, Labels: []string{"result"}, Kept: true,
			Help: "Requests of tills that Redis was asked about: first, seen, failed, or skipped while it was away."},
		{Name: RequestsRepeated, Kind: Counter, Kept: true,
			Help: "Repeated requests of tills that were answered without a transaction."},
		{Name: RedisAway, Kind: Gauge, Kept: true,
			Help: "1 while Redis does not answer. All answers are the same then, and cost the database more."},
		{Name: SubscriberConsuming, Kind: Gauge, Labels: []string{"queue"}, Kept: true,
			Help: "1 while the broker delivers messages of the queue to this replica."},
		{Name: SubscriberInFlight, Kind: Gauge, Labels: []string{"queue"}, Kept: true,
			Help: "Messages taken and not settled."},
		{Name: SubscriberDelivered, Kind: Counter, Labels: []string{"queue"}, Kept: true, Help: "Messages taken."},
		{Name: SubscriberRequeued, Kind: Counter, Labels: []string{"queue"}, Kept: true,
			Help: "Messages given back to the queue. It should move at shutdown only, if at all."},
		{Name: SubscriberDropped, Kind: Counter, Labels: []string{"queue"}, Kept: true,
			Help: "Messages settled after their channel was lost; the broker delivers them again."},
		{Name: SubscriberResubscriptions, Kind: Counter, Labels: []string{"queue"}, Kept: true,
			Help: "Times consumption was interrupted and taken up again."},
	}
}

func outboxMetrics() []Metric {
	shard := []string{"shard"}
	return []Metric{
		{Name: OutboxOwned, Kind: Gauge, Labels: shard, Kept: true,
			Help: "1 where this replica publishes the shard. Over all replicas every shard should have one."},
		{Name: OutboxPending, Kind: Gauge, Kept: true,
			Help: "Committed rows of all shards waiting to be published, the same on all replicas."},
		{Name: OutboxOldest, Kind: Gauge, Kept: true,
			Help: "Age of the oldest row waiting, in seconds. It grows when a shard is published by nobody."},
		{Name: OutboxParked, Kind: Gauge, Kept: true,
			Help: "Rows put aside because the broker has nowhere to put their messages. It should be 0."},
		{Name: OutboxLag, Kind: Gauge, Labels: shard, Kept: true,
			Help: "Age of the oldest row being published, in seconds, where this replica publishes the shard."},
		{Name: OutboxPublished, Kind: Counter, Labels: shard, Kept: true, Help: "Messages the broker has confirmed."},
		{Name: OutboxReturned, Kind: Counter, Labels: shard, Kept: true,
			Help: "Messages that came back because no queue takes them."},
		{Name: OutboxFailed, Kind: Counter, Labels: shard, Kept: true,
			Help: "Messages not confirmed, for any other reason; they are published again."},
		{Name: OutboxParkings, Kind: Counter, Labels: shard, Kept: true, Help: "Times a row was put aside."},
		{Name: OutboxTokensLost, Kind: Counter,
			Help: "Answers published without their lease token. Not 0 means that replicas have different token keys."},
	}
}

func processMetrics() []Metric {
	return []Metric{
		{Name: BrokerConnected, Kind: Gauge, Labels: []string{"connection"}, Kept: true,
			Help: "1 while the connection to the broker is up."},
		{Name: BrokerBlocked, Kind: Gauge, Labels: []string{"connection"}, Kept: true,
			Help: "1 while the broker takes no publications: it is short of memory or disk."},
		{Name: SweeperDue, Kind: Counter, Labels: []string{"sweep"}, Kept: true,
			Help: "Due leases and ended validities that the sweeper found. Leases mean that the broker's timer did not come."},
		{Name: SweeperSubmitted, Kind: Counter, Labels: []string{"sweep"}, Kept: true,
			Help: "Requests of the sweeper that were answered."},
		{Name: SweeperFailed, Kind: Counter, Labels: []string{"sweep"}, Kept: true,
			Help: "Requests of the sweeper that were not answered; they are asked again."},
		{Name: ReviewsOpen, Kind: Gauge, Kept: true, Help: "Cases that wait for a person."},
		{Name: Ready, Kind: Gauge, Kept: true, Help: "1 while /readyz answers 200."},
		{Name: Build, Kind: Gauge, Labels: []string{"version"}, Kept: true, Help: "1, with the version that runs."},
	}
}
