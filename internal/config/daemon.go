package config

import (
	"time"

	"github.com/alecthomas/kong"
)

// Values of the settings that choose.
const (
	TransportWindowed = "windowed"
	TransportStock    = "stock"

	StackingAll     = "ALL"
	StackingPartial = "PARTIAL"

	LogText = "text"
	LogJSON = "json"

	DeadLettersFile  = "file"
	DeadLettersLeave = "leave"

	On  = "on"
	Off = "off"
)

// Daemon is everything that can be set on coupond.
type Daemon struct {
	Services `embed:"" group:"Services"`

	Topology string `name:"topology" env:"COUPONLEASE_TOPOLOGY" default:"declare" oneof:"declare verify off" group:"Messages in" help:"What is done about the broker layout at start: declare creates what is missing, verify fails when something differs, off trusts it."`

	Transport string `name:"transport" env:"COUPONLEASE_TRANSPORT" default:"windowed" oneof:"windowed stock" group:"Messages in" help:"How messages are taken: windowed has many in flight on one channel for each queue; stock is watermill-amqp's subscriber, the slower fallback."`

	Subscriptions int `name:"subscriptions" env:"COUPONLEASE_SUBSCRIPTIONS" default:"16" min:"1" max:"1024" group:"Messages in" help:"Subscriptions on each queue with --transport=stock, each with one message in flight."`

	Prefetch int `name:"prefetch" env:"COUPONLEASE_PREFETCH" default:"512" min:"1" max:"2000" group:"Messages in" help:"Messages in flight from each queue with --transport=windowed."`

	DeadLetters string `name:"dead-letters" env:"COUPONLEASE_DEAD_LETTERS" default:"file" oneof:"file leave" group:"Messages in" help:"What is done about messages in coupon-dead: file moves them into the database, where couponctl dead finds them; leave leaves them to other replicas."`

	Replies `embed:"" group:"Messages in"`

	RetryTiers []time.Duration `name:"retry-tiers" env:"COUPONLEASE_RETRY_TIERS" default:"1s,8s,64s,512s" min:"1s" max:"36h" group:"Messages in" help:"Waits before a message that failed is tried again; after the last it is a dead letter. Powers of two of a second cost the broker least."`

	Batch int `name:"batch" env:"COUPONLEASE_BATCH" default:"256" min:"1" max:"4096" group:"Engine" help:"Most requests that share one transaction."`

	Writers int `name:"writers" env:"COUPONLEASE_WRITERS" default:"2" min:"1" max:"64" group:"Engine" help:"Transactions at the same time, each on a connection of its own."`

	Queue int `name:"queue" env:"COUPONLEASE_QUEUE" default:"1024" min:"1" max:"1048576" group:"Engine" help:"Requests that may wait for a transaction; beyond it their messages wait."`

	ClaimsWithoutRedis int `name:"claims-without-redis" env:"COUPONLEASE_CLAIMS_WITHOUT_REDIS" default:"500" min:"1" max:"1000000" group:"Engine" help:"Most claims a second that this replica takes to the database while Redis does not answer; the others wait in their queue. Without a Redis URL there is no such limit."`

	StatementTimeout time.Duration `name:"statement-timeout" env:"COUPONLEASE_STATEMENT_TIMEOUT" default:"10s" min:"100ms" max:"10m" group:"Engine" help:"Longest time for one statement, judged by PostgreSQL."`

	Rules `embed:""`

	OutboxShards int `name:"outbox-shards" env:"COUPONLEASE_OUTBOX_SHARDS" default:"1" min:"1" max:"1024" group:"Messages out" help:"Shards of the outbox, each published by one replica at a time. It must be the same on all replicas, or shards are left unpublished."`

	Relay string `name:"relay" env:"COUPONLEASE_RELAY" default:"on" oneof:"on off" group:"Messages out" help:"Whether this replica publishes the outbox. At least one replica must."`

	SweepInterval time.Duration `name:"sweep-interval" env:"COUPONLEASE_SWEEP_INTERVAL" default:"10s" min:"0s" max:"1h" group:"Sweeper" help:"Wait between two walks over due leases and ended validities. 0s: this replica does not sweep."`

	SweepGrace time.Duration `name:"sweep-grace" env:"COUPONLEASE_SWEEP_GRACE" default:"30s" min:"0s" max:"24h" group:"Sweeper" help:"How long after a deadline a lease is left to the broker's timer, which normally comes within seconds. 0s: at once."`

	SweepRate int `name:"sweep-rate" env:"COUPONLEASE_SWEEP_RATE" default:"500" min:"1" max:"100000" group:"Sweeper" help:"Most requests a second that this replica's sweeper submits."`

	SweepShards int `name:"sweep-shards" env:"COUPONLEASE_SWEEP_SHARDS" default:"4" min:"1" max:"256" group:"Sweeper" help:"Parts into which sweeping is divided among replicas. The same on all replicas, or some leases are walked twice, which changes nothing."`

	ReconcileInterval time.Duration `name:"reconcile-interval" env:"COUPONLEASE_RECONCILE_INTERVAL" default:"1h" min:"0s" max:"168h" group:"Sweeper" help:"Time between two runs of reconciliation, of which one of all replicas at a time does each. 0s: this replica does none."`

	ReconcileRepair string `name:"reconcile-repair" env:"COUPONLEASE_RECONCILE_REPAIR" default:"off" oneof:"on off" group:"Sweeper" help:"Whether the engine is asked to repair what reconciliation finds; off only tells."`

	InboxRetentionDays int `name:"inbox-retention-days" env:"COUPONLEASE_INBOX_RETENTION_DAYS" default:"14" min:"1" max:"3650" group:"Process" help:"Whole days for which messages are remembered by id; after that only business keys protect against repeats."`

	DeadRetentionDays int `name:"dead-retention-days" env:"COUPONLEASE_DEAD_RETENTION_DAYS" default:"90" min:"1" max:"3650" group:"Process" help:"Whole days for which dead letters are kept that are resolved or discarded, and replays that are over."`

	FindingRetentionDays int `name:"finding-retention-days" env:"COUPONLEASE_FINDING_RETENTION_DAYS" default:"90" min:"1" max:"3650" group:"Process" help:"Whole days for which findings of reconciliation are kept that are closed, and its runs."`

	HTTPAddr string `name:"http-addr" aliases:"http-address" env:"COUPONLEASE_HTTP_ADDR" default:"127.0.0.1:8080" form:"address" group:"Process" help:"Address of /healthz, /readyz and /metrics, as host:port. Port 0: any free one, which the log names."`

	LogLevel string `name:"log-level" env:"COUPONLEASE_LOG_LEVEL" default:"info" oneof:"debug info warn error" group:"Process" help:"Least severe level that is logged."`

	LogFormat string `name:"log-format" env:"COUPONLEASE_LOG_FORMAT" default:"text" oneof:"text json" group:"Process" help:"Form of the log on standard error."`

	DrainTimeout time.Duration `name:"drain-timeout" env:"COUPONLEASE_DRAIN_TIMEOUT" default:"20s" min:"1s" max:"10m" group:"Process" help:"How long work in flight may take to finish after a signal to stop; closing connections may take 15s more."`

	Traces `embed:""`
}

// Default is the configuration in which nothing was set: services are missing.
func Default() Daemon {
	var d Daemon
	for _, flag := range flagsOf(&d) {
		if !flag.HasDefault {
			continue
		}
		token := kong.Token{Type: kong.FlagValueToken, Value: flag.Default}
		if err := flag.Parse(kong.ScanFromTokens(token), flag.Target); err != nil {
			// A default is part of the program, and its test reads them all.
			panic(err)
		}
	}
	return d
}

// Check returns an *Error that lists everything wrong, nil if nothing is.
func (d Daemon) Check() error { return check(flagsOf(&d), nil) }

// flagsOf gives the settings of a struct, with the struct's fields as targets.
func flagsOf(settings any) []*kong.Flag {
	app, err := kong.New(settings, kong.NoDefaultHelp())
	if err != nil {
		panic(err)
	}
	return app.Model.Flags
}
