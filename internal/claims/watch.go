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
	// incomplete are stocks that are right and do not know who has got something.
	incomplete []string
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
	s.isLow, s.incomplete = false, nil
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
			if !level.Complete {
				s.incomplete = append(s.incomplete, t.ID)
			}
			continue
		}
		drifts = append(drifts, drift)
	}
	s.before, s.at = levels, now
	return drifts, nil
}

// Incomplete lists the campaigns whose stock, at the last look, did not know who has got
// something: see Desk.Recall.
func (s *Survey) Incomplete() []string { return s.incomplete }

// Repair has the stock loaded again.
func (d *Desk) Repair(ctx context.Context, drift Drift) error {
	_, err := d.restock(ctx, drift.Template, drift.fault)
	return err
}

// Rebuild loads the stock of a campaign, whatever the pool holds.
func (d *Desk) Rebuild(ctx context.Context, template string) error {
	if _, err := d.restock(ctx, template, unconditionally); err != nil {
		return err
	}
	return d.Recall(ctx, template)
}

// recallPage is how many persons are read at once.
const recallPage = 5000

// Recall tells the pool who has got something of a campaign, unless it knows. Until then it
// takes everybody for one who may have, and the books are asked.
func (d *Desk) Recall(ctx context.Context, template string) error {
	err := d.books.Alone(ctx, template, func(ctx context.Context) error {
		level, err := d.pool.Level(ctx, template)
		if err != nil || !level.Loaded || level.Complete {
			return err
		}
		for after := ""; ; {
			persons, err := d.books.Claimants(ctx, template, after, recallPage)
			if err != nil {
				return err
			}
			isLast := len(persons) < recallPage
			if err := d.pool.Recall(ctx, template, level.Generation, persons, isLast); err != nil || isLast {
				return err
			}
			after = persons[len(persons)-1]
		}
	})
	if err != nil {
		return fmt.Errorf("recall who has got something of campaign %s: %w", template, err)
	}
	return nil
}

// PoolChanged tells that the pool may have forgotten something, or remembered something old.
// Where something is left to count, a survey sees what is wrong; other stocks are mended.
func (d *Desk) PoolChanged() { d.campaigns.distrust() }

// Mend repairs the stocks of campaigns with coupons that went past the pool, and of those
// that may count a person for nothing: a new generation knows nobody. What the pool has of
// all others may be wrong, too: a survey sees that.
func (d *Desk) Mend(ctx context.Context) {
	for template, were := range d.campaigns.suspects() {
		if _, err := d.restock(ctx, template, unconditionally); err != nil {
			d.options.Logger.Warn("the stock of a campaign is not right yet", "template", template, "error", err)
			continue
		}
		d.campaigns.mended(template, were)
	}
}
