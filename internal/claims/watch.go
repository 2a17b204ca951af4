package claims

import (
	"context"
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

// Rationed lists campaigns whose claims are limited and open.
type Rationed interface {
	Rationed(ctx context.Context) ([]*coupon.Template, error)
}

// Drift is a stock in the pool that is not what the books say.
type Drift struct {
	Template string `json:"templateId"`
	// Generation and Left are those of the books, PoolGeneration and PoolLeft those of the
	// pool.
	Generation     int64 `json:"generation"`
	Left           int64 `json:"left"`
	PoolGeneration int64 `json:"poolGeneration"`
	PoolLeft       int64 `json:"poolLeft"`
	fault          wrong
}

// String gives one line for people.
func (d Drift) String() string {
	if d.Generation != d.PoolGeneration {
		return fmt.Sprintf("campaign %s: the pool has generation %d, the books are at %d", d.Template, d.PoolGeneration, d.Generation)
	}
	return fmt.Sprintf("campaign %s: the pool has %d left, the books %d", d.Template, d.PoolLeft, d.Left)
}

// Survey compares the stocks in a pool with the books. Claims go on meanwhile, so a stock is
// called too low only if it was so low before that everything that was under way by then
// has ended: a look has to come at least Patience after the one before.
type Survey struct {
	pool  Pool
	books Rationed
	// before are the levels of the look before.
	before map[string]Level
	at     time.Time
	// isLow says that a stock was lower than the books at the last look, as it is while
	// claims are under way.
	isLow bool
}

// Patience is how long a claim is under way at most, as far as a survey is concerned.
const Patience = 5 * time.Second

// NewSurvey starts a survey.
func NewSurvey(pool Pool, books Rationed) *Survey { return &Survey{pool: pool, books: books} }

// Look gives the stocks that are wrong now. Stocks that the pool does not have are not: they
// are loaded when somebody asks for them.
func (s *Survey) Look(ctx context.Context, now time.Time) ([]Drift, error) {
	templates, err := s.books.Rationed(ctx)
	if err != nil {
		s.before = nil // while the books do not answer, claims wait for longer than anybody's patience
		return nil, fmt.Errorf("list campaigns: %w", err)
	}
	levels := make(map[string]Level, len(templates))
	s.isLow = false
	var drifts []Drift
	for _, t := range templates {
		// The books were read before, so that a claim in between makes the pool look lower.
		level, err := s.pool.Level(ctx, t.ID)
		if err != nil {
			return nil, fmt.Errorf("look at the stock of campaign %s: %w", t.ID, err)
		}
		if !level.Loaded {
			continue
		}
		levels[t.ID] = level
		s.isLow = s.isLow || level.Generation == t.Generation && level.Left < t.Left()
		before, seen := s.before[t.ID]
		patient := seen && now.Sub(s.at) >= Patience && before.Generation == t.Generation
		drift := Drift{
			Template: t.ID, Generation: t.Generation, Left: t.Left(), PoolGeneration: level.Generation, PoolLeft: level.Left,
		}
		switch {
		case level.Generation != t.Generation:
			drift.fault = missing
		case level.Left > t.Left():
			drift.fault = tooHigh
		case patient && before.Left < t.Left():
			drift.fault, drift.PoolLeft = tooLow, before.Left
		default:
			continue
		}
		drifts = append(drifts, drift)
	}
	s.before, s.at = levels, now
	return drifts, nil
}

// Repair has the stock loaded again.
func (d *Desk) Repair(ctx context.Context, drift Drift) error {
	_, err := d.restock(ctx, drift.Template, drift.fault)
	return err
}

// Rebuild loads the stock of a campaign, whatever the pool holds.
func (d *Desk) Rebuild(ctx context.Context, template string) error {
	_, err := d.restock(ctx, template, unconditionally)
	return err
}

// Mend repairs the stocks of campaigns with coupons that went past the pool, and of those
// that may count a person for nothing. What the pool has of all others may be wrong, too: a
// survey sees that.
func (d *Desk) Mend(ctx context.Context) {
	for template, were := range d.campaigns.suspects() {
		if err := d.mend(ctx, template, were); err != nil {
			d.options.Logger.Warn("the stock of a campaign is not right yet", "template", template, "error", err)
			continue
		}
		d.campaigns.mended(template, were)
	}
}

// mend has a new generation made, which claims to know nobody, unless somebody else has.
func (d *Desk) mend(ctx context.Context, template string, were ills) error {
	level, err := d.pool.Level(ctx, template)
	if err != nil {
		return err
	}
	fault := unconditionally
	if level.Generation > were.generation && were.lost == 0 {
		fault = tooHigh
	}
	_, err = d.restock(ctx, template, fault)
	return err
}
