package console

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"couponlease/internal/quota"
	"couponlease/internal/store"
)

// notSet is the diagnosis of a service that nobody named.
func notSet(name, variable string) []Diagnosis {
	return []Diagnosis{{name, SeverityError, variable + " is not set", "name the service by " + variable}}
}

// database examines PostgreSQL; when it is not reached, nothing else is asked of it.
func (d *doctor) database(ctx context.Context) []Diagnosis {
	const name = "database"
	if d.services.PostgresURL == "" {
		return notSet(name, "COUPONLEASE_POSTGRES_URL")
	}
	opened, err := store.Open(ctx, d.services.Postgres(), store.Options{
		ApplicationName: clientName, StatementTimeout: d.options.Timeout,
	})
	if err != nil {
		return []Diagnosis{{name, SeverityError, err.Error(), "correct COUPONLEASE_POSTGRES_URL"}}
	}
	defer opened.Close()
	var reached atomic.Bool
	found := d.examine(ctx, check{name, func(ctx context.Context) ([]Diagnosis, error) {
		facts, err := opened.ServerFacts(ctx)
		if err != nil {
			return []Diagnosis{{Severity: SeverityError, Finding: "it is not reached: " + err.Error(),
				Remedy: "see that it runs, and that COUPONLEASE_POSTGRES_URL names it; nothing else of it was checked"}}, nil
		}
		reached.Store(true)
		d.clocks.setDatabase(reading{clock: facts.Clock, asked: facts.Asked, answered: facts.Answered})
		return judgeServer(facts), nil
	}})
	if !reached.Load() {
		return found
	}
	return append(found, d.examine(ctx,
		check{"migrations", func(ctx context.Context) ([]Diagnosis, error) {
			facts, err := opened.SchemaFacts(ctx)
			return judgeSchema(facts), err
		}},
		check{"partitions", func(ctx context.Context) ([]Diagnosis, error) {
			facts, err := opened.PartitionFacts(ctx, d.options.InboxRetention)
			return judgePartitions(facts), err
		}},
	)...)
}

// longSnapshot is when a snapshot that another session holds begins to hurt: nothing
// that died since can be cleaned up, and every update gets slower.
const longSnapshot = time.Hour

func judgeServer(f store.ServerFacts) []Diagnosis {
	diagnoses := []Diagnosis{supportedPostgreSQL.judge(f.Version)}
	if f.Standby {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityError, Finding: "it is a standby: nothing can be written",
			Remedy: "name the primary, or all servers with target_session_attrs=read-write, in COUPONLEASE_POSTGRES_URL"})
	}
	for _, setting := range f.Unsafe {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityError,
			Finding: setting + " is off: what was acknowledged may be lost when the server fails",
			Remedy:  fmt.Sprintf("`alter system set %s = on`, `select pg_reload_conf()`", setting)})
	}
	if f.OldestSnapshot > longSnapshot {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityWarning,
			Finding: fmt.Sprintf("a session has held a snapshot for %v: dead rows pile up", f.OldestSnapshot),
			Remedy:  "`select pid, application_name, query from pg_stat_activity order by xact_start` shows it, pg_terminate_backend(pid) ends it"})
	}
	return diagnoses
}

func judgeSchema(f store.SchemaFacts) (diagnoses []Diagnosis) {
	if len(f.Missing) > 0 {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityError,
			Finding: count(len(f.Missing), "migration") + " pending, from " + f.Missing[0] + " on",
			Remedy:  "`couponctl migrate up`"})
	}
	if len(f.Unknown) > 0 {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityWarning,
			Finding: count(len(f.Unknown), "migration") + " of a newer release",
			Remedy:  "use the couponctl and coupond of that release"})
	}
	return diagnoses
}

func judgePartitions(f store.PartitionFacts) (diagnoses []Diagnosis) {
	const remedy = "coupond makes them every hour: see that one runs, and what its log says about partitions"
	if len(f.Today) > 0 {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityError,
			Finding: "missing for today: " + strings.Join(f.Today, ", "), Remedy: remedy})
	}
	if len(f.Tomorrow) > 0 {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityWarning,
			Finding: "missing for tomorrow: " + strings.Join(f.Tomorrow, ", "), Remedy: remedy})
	}
	if len(f.Over) > 0 {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityWarning,
			Finding: count(len(f.Over), "old partition") + " still there, such as " + f.Over[0],
			Remedy:  "coupond drops them every hour: see that one runs, and what its log says about partitions"})
	}
	return diagnoses
}

// redis examines Redis, if there is one to be.
func (d *doctor) redis(ctx context.Context) []Diagnosis {
	const name = "redis"
	if d.services.RedisURL == "" {
		return []Diagnosis{{name, SeverityNote, "not configured: the database answers everything by itself", ""}}
	}
	security, err := d.services.RedisTLS()
	if err != nil {
		return []Diagnosis{{name, SeverityError, err.Error(), "correct the files of Redis' certificates"}}
	}
	client, err := quota.Open(d.services.RedisURL, quota.ClientOptions{Name: clientName, TLS: security})
	if err != nil {
		return []Diagnosis{{name, SeverityError, err.Error(), "correct COUPONLEASE_REDIS_URL"}}
	}
	// What was asked is answered by now, or will not be.
	defer func() { _ = client.Close() }()
	var reached atomic.Bool
	found := d.examine(ctx, check{name, func(ctx context.Context) ([]Diagnosis, error) {
		facts, err := client.Inspect(ctx)
		if err != nil {
			return []Diagnosis{{Severity: SeverityWarning, Finding: "it is not reached: " + err.Error(),
				Remedy: "see that it runs, and that COUPONLEASE_REDIS_URL names it; the database answers meanwhile"}}, nil
		}
		reached.Store(true)
		d.clocks.add("Redis", reading{clock: facts.Clock, asked: facts.Asked, answered: facts.Answered})
		return judgeRedis(facts), nil
	}})
	if !reached.Load() {
		return found
	}
	return append(found, d.examine(ctx, check{"redis stocks", func(ctx context.Context) ([]Diagnosis, error) {
		return d.stocks(ctx, client)
	}})...)
}

// judgeRedis: what Redis knows are hints, so nothing of it is an error but its age.
func judgeRedis(f quota.Facts) []Diagnosis {
	diagnoses := []Diagnosis{supportedRedis.judge(f.Version)}
	add := func(severity Severity, finding, remedy string) {
		diagnoses = append(diagnoses, Diagnosis{Severity: severity, Finding: finding, Remedy: remedy})
	}
	if f.Replica {
		add(SeverityWarning, "it is a replica and takes no writes", "name the primary in COUPONLEASE_REDIS_URL")
	}
	if !f.AppendOnly && !f.Snapshots {
		add(SeverityNote, "it keeps nothing over a restart: the database answers until it knows everything again",
			"if that is too slow: `redis-cli config set appendonly yes`, and the same in its configuration")
	}
	if f.LastSaveFailed {
		add(SeverityWarning, "it could not write its data to disk", "look at its log and at the room on its disk")
	}
	if f.Eviction != "" && f.Eviction != "noeviction" {
		add(SeverityWarning, "it drops keys when its memory is full: "+f.Eviction,
			"`redis-cli config set maxmemory-policy noeviction`, and the same in its configuration")
	}
	return diagnoses
}
