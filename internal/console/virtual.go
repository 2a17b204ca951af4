package console

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
	"couponlease/internal/store"
)

// removeTimeout bounds how long taking a temporary schema away may take.
const removeTimeout = time.Minute

// WithVirtualLedger runs do on the real store, in a schema of its own that is
// gone afterwards, and under whatever clock do sets.
func WithVirtualLedger(ctx context.Context, services config.Services, do func(simulate.Open) error) (err error) {
	if services.PostgresURL == "" {
		return unset("COUPONLEASE_POSTGRES_URL")
	}
	random := make([]byte, 4)
	_, _ = rand.Read(random) // documented never to fail
	schema := "cases_" + hex.EncodeToString(random)
	address := services.Postgres()
	if err := store.CreateSchema(ctx, address, schema); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		err = errors.Join(err, store.DropSchema(ctx, address, schema))
	}()
	inside, err := store.InSchema(address, schema)
	if err != nil {
		return Usage(err)
	}
	opened, err := store.Open(ctx, inside, store.Options{ApplicationName: clientName})
	if err != nil {
		return Usage(err)
	}
	defer opened.Close()
	if err := opened.MigrateUp(ctx); err != nil {
		return fmt.Errorf("prepare schema %s: %w", schema, err)
	}
	return do(func(now func() time.Time, rules coupon.Rules, source coupon.Source) simulate.Backend {
		return &virtualLedger{Store: opened.Under(rules, source, now), now: now}
	})
}

// virtualLedger is the real store under a clock that the cases set.
type virtualLedger struct {
	*store.Store
	now func() time.Time
}

// Expirable lists, after cursor and in id order, free coupons whose validity is
// over by the virtual clock.
func (l *virtualLedger) Expirable(ctx context.Context, cursor string, limit int) ([]string, error) {
	return l.FreeUntil(ctx, l.now(), cursor, limit)
}
