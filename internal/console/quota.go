package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/quota"
)

// redisTimeout is how long one call of an operator's may take: longer than a claim's.
const redisTimeout = 2 * time.Second

// stocks are the stocks of campaigns in Redis, and what loads them.
type stocks struct {
	pool *quota.Pool
	desk *claims.Desk
}

// withStocks connects to Redis, and puts an engine and a desk behind it, for the time of do.
func (d *Database) withStocks(do func(stocks) error) (err error) {
	if d.services.RedisURL == "" {
		return unset("COUPONLEASE_REDIS_URL")
	}
	security, err := d.services.RedisTLS()
	if err != nil {
		return Usage(err)
	}
	client, err := quota.Open(d.services.RedisURL, quota.ClientOptions{Name: clientName, TLS: security})
	if err != nil {
		return Usage(err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	pool := quota.NewPool(client, quota.PoolOptions{
		Prefix: quota.ClaimPrefix(d.services.RedisPrefix), Timeout: redisTimeout, Logger: d.logger,
	})
	return d.withEngine(encoding(1), func(e *engine.Engine) (err error) {
		// Nobody claims here, so nobody has to be told anything.
		desk := claims.New(e, pool, d.store, nil, claims.Options{Zone: engine.NewSource(d.keys).Zone, Logger: d.logger})
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			err = errors.Join(err, desk.Close(ctx))
		}()
		return do(stocks{pool, desk})
	})
}

// restockAfterEdit has Redis, if there is one, take the stocks of edited campaigns at once.
// Without that the daemons see the edit within seconds, so a failure is no error.
func (d *Database) restockAfterEdit(ctx context.Context, templates ...string) {
	if d.services.RedisURL == "" || len(templates) == 0 {
		return
	}
	err := d.withStocks(func(s stocks) error {
		for _, template := range templates {
			if err := s.desk.Edited(ctx, template); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.logger.Warn("Redis does not know of an edit yet", "error", err)
	}
}

// restockAfterIssue has Redis, if there is one and it has the campaign, learn what a batch
// took from its stock, and who got it. The daemons see the first within seconds as well.
func (d *Database) restockAfterIssue(ctx context.Context, template string) {
	if d.services.RedisURL == "" {
		return
	}
	err := d.withStocks(func(s stocks) error {
		level, err := s.pool.Level(ctx, template)
		if err != nil || !level.Loaded {
			return err
		}
		return s.desk.Rebuild(ctx, template)
	})
	if err != nil {
		d.logger.Warn("Redis does not know of a batch yet", "error", err)
	}
}

// QuotaState says how a stock in Redis stands to the books.
type QuotaState string

// The states. Lower is right while claims are under way: they take from Redis first.
const (
	QuotaNotLoaded QuotaState = "NOT_LOADED"
	QuotaEqual     QuotaState = "EQUAL"
	QuotaLower     QuotaState = "LOWER"
	QuotaHigher    QuotaState = "HIGHER"
	// QuotaOther: the stock is of another generation than that of the books.
	QuotaOther QuotaState = "OTHER_GENERATION"
)

// QuotaLine is what the books and Redis say of one campaign. A limit that does not exist
// is null.
type QuotaLine struct {
	Template   string                `json:"template"`
	Status     coupon.TemplateStatus `json:"status"`
	Total      *int64                `json:"total"`
	Issued     int64                 `json:"issued"`
	Left       *int64                `json:"left"`
	Generation int64                 `json:"generation"`
	// Redis is null when it has no stock of the campaign.
	Redis *QuotaLevel `json:"redis"`
	State QuotaState  `json:"state"`
}

// QuotaLevel is what Redis holds of one campaign.
type QuotaLevel struct {
	Generation int64  `json:"generation"`
	Left       *int64 `json:"left"`
	PerPerson  *int64 `json:"perPerson"`
	PerDay     *int64 `json:"perDay"`
}

func quotaLevel(l claims.Level) *QuotaLevel {
	if !l.Loaded {
		return nil
	}
	return &QuotaLevel{l.Generation, orNull(l.Left), orNull(l.PerPerson), orNull(l.PerDay)}
}

// quotaLine compares; the books were read first, so that a claim in between makes Redis
// look lower.
func quotaLine(t *coupon.Template, l claims.Level) QuotaLine {
	line := QuotaLine{
		Template: t.ID, Status: t.Status, Total: orNull(t.Total), Issued: t.Issued, Left: orNull(t.Left()),
		Generation: t.Generation, Redis: quotaLevel(l), State: QuotaEqual,
	}
	switch {
	case !l.Loaded:
		line.State = QuotaNotLoaded
	case l.Generation != t.Generation:
		line.State = QuotaOther
	case l.Left < t.Left():
		line.State = QuotaLower
	case l.Left > t.Left():
		line.State = QuotaHigher
	}
	return line
}

// QuotaReport is what the books and Redis say of campaigns whose claims are limited.
type QuotaReport struct {
	Campaigns []QuotaLine `json:"campaigns"`
}

// Quota compares the books with Redis as they are at this moment: those of one campaign,
// or of all whose claims are limited.
func (d *Database) Quota(ctx context.Context, template string) (QuotaReport, error) {
	report := QuotaReport{Campaigns: []QuotaLine{}}
	err := d.withStocks(func(s stocks) error {
		campaigns, err := d.campaigns(ctx, template)
		if err != nil {
			return err
		}
		for _, t := range campaigns {
			level, err := s.pool.Level(ctx, t.ID)
			if err != nil {
				return err
			}
			report.Campaigns = append(report.Campaigns, quotaLine(t, level))
		}
		return nil
	})
	return report, err
}

// campaigns gives one campaign, or all whose claims are limited.
func (d *Database) campaigns(ctx context.Context, template string) ([]*coupon.Template, error) {
	if template == "" {
		all, err := d.store.Templates(ctx)
		var limited []*coupon.Template
		for _, t := range all {
			if t.Rationed() {
				limited = append(limited, t)
			}
		}
		return limited, err
	}
	t, found, err := d.store.Template(ctx, template)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("there is no template %s: `couponctl templates list` shows them", template)
	case !t.Rationed():
		return nil, Usage(fmt.Errorf("claims of template %s are not limited: Redis has nothing to do with them", template))
	}
	return []*coupon.Template{&t}, nil
}

// QuotaDriftReport is which stocks are wrong, whatever is under way.
type QuotaDriftReport struct {
	Drifts  []claims.Drift `json:"drifts"`
	Seconds float64        `json:"seconds"`
}

// QuotaDrift finds the stocks that are wrong. Where one is lower than the books, it waits
// for as long as a claim may be under way.
func (d *Database) QuotaDrift(ctx context.Context) (QuotaDriftReport, error) {
	report := QuotaDriftReport{Drifts: []claims.Drift{}}
	began := time.Now()
	err := d.withStocks(func(s stocks) error {
		drifts, err := claims.NewInspection(s.pool, d.store, nil).Look(ctx)
		report.Drifts = append(report.Drifts, drifts...)
		return err
	})
	report.Seconds = time.Since(began).Seconds()
	return report, err
}
