package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/leasetoken"
	"couponlease/internal/store"
	"couponlease/migrations"
)

// Database is an operator's connection to the database.
type Database struct {
	store    *store.Store
	services config.Services
	logger   *slog.Logger
	// keys make lease tokens; keysAreRandom says that no other process has them.
	keys          leasetoken.Keys
	keysAreRandom bool
}

// OpenDatabase connects and waits until the database answers. What is asked of it by
// hand is decided under the rules, which have to be those of the daemons.
func OpenDatabase(
	ctx context.Context, services config.Services, rules coupon.Rules, logger *slog.Logger,
) (*Database, error) {
	if services.PostgresURL == "" {
		return nil, unset("COUPONLEASE_POSTGRES_URL")
	}
	keys, configured, err := services.LeaseKeys()
	if err != nil {
		return nil, Usage(err)
	}
	opened, err := store.Open(ctx, services.Postgres(), store.Options{
		Rules: rules, Source: engine.NewSource(keys), ApplicationName: clientName,
	})
	if err != nil {
		return nil, Usage(err)
	}
	if _, err := opened.Ping(ctx); err != nil {
		opened.Close()
		return nil, fmt.Errorf("%w: is it running, and does COUPONLEASE_POSTGRES_URL name it?", err)
	}
	return &Database{store: opened, services: services, logger: logger, keys: keys, keysAreRandom: !configured}, nil
}

// Close ends all connections.
func (d *Database) Close() { d.store.Close() }

// NeedSchema is an error unless the schema is as this program knows it.
func (d *Database) NeedSchema(ctx context.Context) error {
	status, err := d.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	if status.Pending > 0 {
		return fmt.Errorf("the database lacks %s: run `couponctl migrate up`", count(status.Pending, "migration"))
	}
	return nil
}

// MigrationStatus lists the migrations and whether the database has them.
type MigrationStatus struct {
	Migrations []Migration `json:"migrations"`
	Pending    int         `json:"pending"`
}

// Migration is one numbered change of the schema.
type Migration struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// WriteText prints one migration a line.
func (s MigrationStatus) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, migration := range s.Migrations {
		state := "pending"
		if migration.Applied {
			state = "applied"
		}
		out.addf("%-7s  %s", state, migration.Name)
	}
	out.addf("%d applied, %d pending", len(s.Migrations)-s.Pending, s.Pending)
	return out.err
}

// MigrationStatus lists all migrations in order.
func (d *Database) MigrationStatus(ctx context.Context) (MigrationStatus, error) {
	states, err := d.store.MigrationStatus(ctx)
	if err != nil {
		return MigrationStatus{}, err
	}
	return migrationStatus(states), nil
}

func migrationStatus(states []migrations.State) MigrationStatus {
	status := MigrationStatus{Migrations: make([]Migration, len(states))}
	for i, state := range states {
		status.Migrations[i] = Migration(state)
		if !state.Applied {
			status.Pending++
		}
	}
	return status
}

// MigrateUp brings the schema to the newest version and tells where it is then.
// Several processes may do so at once.
func (d *Database) MigrateUp(ctx context.Context) (MigrationStatus, error) {
	if err := d.store.MigrateUp(ctx); err != nil {
		return MigrationStatus{}, err
	}
	return d.MigrationStatus(ctx)
}

// MigrateDown takes the whole schema back, and with it all data.
func (d *Database) MigrateDown(ctx context.Context) (MigrationStatus, error) {
	if err := d.store.MigrateDown(ctx); err != nil {
		return MigrationStatus{}, err
	}
	return d.MigrationStatus(ctx)
}

// closeTimeout bounds the wait for the last batch of an engine.
const closeTimeout = 30 * time.Second

// withEngine runs do with the one writer of coupons on this database.
func (d *Database) withEngine(encode engine.Encode, do func(*engine.Engine) error) (err error) {
	e := engine.New(d.store, encode, engine.Options{
		Limits: batcher.Limits{Batch: engineBatch}, Classify: store.Classify,
		OnPause: func(paused bool) {
			if paused {
				d.logger.Error("the database does not answer, waiting for it")
			}
		},
	})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		err = errors.Join(err, e.Close(ctx))
	}()
	return do(e)
}

// engineBatch is how many requests share one transaction.
const engineBatch = 512

// EachHistory visits every coupon with its evidence, in the order of ids, as of
// one moment. An error of visit ends it and is returned.
func (d *Database) EachHistory(ctx context.Context, visit func(coupon.History) error) error {
	return d.store.EachHistory(ctx, visit)
}
