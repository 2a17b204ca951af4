package claims

import (
	"context"
	"fmt"
	"sync"
	"time"

	"couponlease/internal/coupon"
)

// campaign is what a desk knows of a campaign whose claims are limited.
type campaign struct {
	template   string
	generation int64
	perDay     bool
	zone       *time.Location
	// free says that there are no limits, or no campaign: the engine knows. endless says that
	// only persons are limited.
	free, endless bool
	// read is when the books were asked last. ills say what may be wrong in the pool.
	// Both belong to the campaigns that remember this one.
	read time.Time
	ills ills
}

// ills count what this desk did that may have made a stock wrong.
type ills struct {
	// bypassed claims got a coupon past the pool: it may hold too much, and does not know who
	// has something.
	bypassed int64
	// lost returns may leave persons counted for nothing, which no look at what is left can
	// see where there is no end to it; elsewhere none is counted.
	lost int64
}

// ask gives what the pool has to know of a claim. The day is that of this machine's clock;
// the books judge by the database's.
func (c *campaign) ask(r *coupon.Request, f coupon.ClaimCoupon, now time.Time) Ask {
	a := Ask{
		Template: c.template, Request: r.Key, Generation: c.generation, Person: coupon.FoldPerson(f.Person),
	}
	if c.perDay {
		local := now.In(c.zone)
		year, month, day := local.Date()
		a.Day, a.DayEnds = local.Format(time.DateOnly), time.Date(year, month, day+1, 0, 0, 0, 0, c.zone)
	}
	return a
}

// campaignsMost bounds how many campaigns a desk remembers.
const campaignsMost = 10_000

// campaigns remembers campaigns.
type campaigns struct {
	mutex sync.Mutex
	known map[string]*campaign
}

// get gives a campaign, nil for one that is not known, and whether the caller is to read it
// again, which is asked of one at a time.
func (c *campaigns) get(template string, now time.Time) (one *campaign, isOld bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	one = c.known[template]
	if one != nil && now.Sub(one.read) >= rereadAfter {
		one.read, isOld = now, true
	}
	return one, isOld
}

// put remembers a campaign, with what may be wrong of its stock.
func (c *campaigns) put(one *campaign) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before := c.known[one.template]
	if before != nil {
		one.ills = before.ills
	} else if len(c.known) >= campaignsMost {
		for template := range c.known { // any one: it is read again when it is asked for
			delete(c.known, template)
			break
		}
	}
	c.known[one.template] = one
}

// suspect notes what may be wrong in the pool.
func (c *campaigns) suspect(template string, more ills) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	one := c.known[template]
	if one == nil {
		return
	}
	one.ills.bypassed += more.bypassed
	if one.endless {
		one.ills.lost += more.lost
	}
}

// distrust suspects all stocks of which no look at what is left can see that they are old.
func (c *campaigns) distrust() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, one := range c.known {
		if one.endless {
			one.ills.lost++
		}
	}
}

// mended takes back what was wrong; what came since stays.
func (c *campaigns) mended(template string, were ills) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if one := c.known[template]; one != nil {
		one.ills.bypassed -= were.bypassed
		one.ills.lost -= were.lost
	}
}

// misses says whether the pool may not know of everybody who has something.
func (c *campaigns) misses(template string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	one := c.known[template]
	return one != nil && one.ills.bypassed > 0
}

// suspects gives the campaigns of which something may be wrong.
func (c *campaigns) suspects() map[string]ills {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found := map[string]ills{}
	for template, one := range c.known {
		if one.ills.bypassed > 0 || one.ills.lost > 0 {
			found[template] = one.ills
		}
	}
	return found
}

// Limits on what a desk knows by heart.
const (
	// rereadAfter is how old it may be: an operator's edit is not told to anybody.
	rereadAfter = Patience
	// rereadMost is how long a claim waits for news of a campaign that is known.
	rereadMost = time.Second
)

// campaign gives what is known of a campaign, nil when its claims are not limited or there
// is none.
func (d *Desk) campaign(ctx context.Context, template string) (*campaign, error) {
	c, isOld := d.campaigns.get(template, d.options.Now())
	if c == nil {
		again, err := d.read(ctx, template)
		return again.limited(), err
	}
	if isOld {
		ctx, cancel := context.WithTimeout(ctx, rereadMost)
		defer cancel()
		if again, err := d.read(ctx, template); err == nil {
			return again.limited(), nil
		}
	}
	return c.limited(), nil
}

// limited gives the campaign if its claims are limited, else nil.
func (c *campaign) limited() *campaign {
	if c == nil || c.free {
		return nil
	}
	return c
}

// read asks the books, once for all who want to know at the same time: a campaign begins
// with a crowd.
func (d *Desk) read(ctx context.Context, template string) (*campaign, error) {
	shared := context.WithoutCancel(ctx) // whoever gives up does not stop it for the others
	looking := d.flights.DoChan("look for "+template, func() (any, error) {
		ctx, cancel := context.WithTimeout(shared, restockMost)
		defer cancel()
		t, found, err := d.books.Template(ctx, template)
		if err != nil {
			return nil, fmt.Errorf("look for campaign %s: %w", template, err)
		}
		if !found {
			t = coupon.Template{ID: template, Terms: coupon.Unlimited()}
		}
		return d.remember(&t), nil
	})
	select {
	case looked := <-looking:
		if looked.Err != nil {
			return nil, looked.Err
		}
		return looked.Val.(*campaign), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("look for campaign %s: %w", template, context.Cause(ctx))
	}
}

func (d *Desk) remember(t *coupon.Template) *campaign {
	c := &campaign{
		template: t.ID, generation: t.Generation, perDay: t.PerDay != coupon.NoLimit, zone: time.UTC,
		free: !t.Rationed(), endless: t.Total == coupon.NoLimit, read: d.options.Now(),
	}
	if t.Zone != "" {
		if zone, err := d.options.Zone(t.Zone); err == nil { // as in the books, an unknown one is UTC
			c.zone = zone
		}
	}
	d.campaigns.put(c)
	return c
}

// wrong says what is wrong with a stock in the pool.
type wrong int

const (
	// missing: it is not there, or not of the generation of the books.
	missing wrong = iota
	// tooHigh: it may hold more than there is, tooLow: it was seen to hold less.
	tooHigh
	tooLow
	// unconditionally: somebody wants it loaded anew.
	unconditionally
)

// isGone says whether nothing is wrong any more with a stock of the right generation.
func (f wrong) isGone(inPool, inBooks int64) bool {
	switch f {
	case missing:
		return true
	case tooHigh:
		return inPool <= inBooks
	case tooLow:
		return inPool >= inBooks
	default:
		return false
	}
}

// restock loads a campaign's stock from the books, unless somebody else just did, and gives
// the campaign as it is now, nil when its claims are not limited any more. One replica does
// it at a time.
func (d *Desk) restock(ctx context.Context, template string, fault wrong) (*campaign, error) {
	// Whoever gives up does not stop it for the others.
	shared := context.WithoutCancel(ctx)
	result, err, _ := d.flights.Do(flight(template, fault), func() (any, error) {
		ctx, cancel := context.WithTimeout(shared, restockMost)
		defer cancel()
		var c *campaign
		err := d.books.Alone(ctx, template, func(ctx context.Context) (err error) {
			c, err = d.load(ctx, template, fault)
			return err
		})
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("load the stock of campaign %s: %w", template, err)
	}
	return result.(*campaign).limited(), nil
}

// flight names what is done once for all who want it at the same time.
func flight(template string, fault wrong) string { return fmt.Sprintf("%d %s", fault, template) }

// restockMost bounds how long loading a stock may take.
const restockMost = 10 * time.Second

func (d *Desk) load(ctx context.Context, template string, fault wrong) (*campaign, error) {
	t, found, err := d.books.Template(ctx, template)
	if err != nil {
		return nil, err
	}
	if !found {
		t = coupon.Template{ID: template, Terms: coupon.Unlimited()}
	}
	if !t.Rationed() {
		return d.remember(&t), nil
	}
	level, err := d.pool.Level(ctx, template)
	if err != nil {
		return nil, err
	}
	same := level.Loaded && level.Generation == t.Generation
	switch {
	case same && fault.isGone(level.Left, t.Left()):
		return d.remember(&t), nil // it is right, or somebody else has just put it right
	case same || level.Generation > t.Generation:
		// What was taken from the stock that is there has to mean nothing to the next.
		if err := d.renew(ctx, &t, level.Generation); err != nil {
			return nil, err
		}
	}
	if err := d.pool.Load(ctx, StockOf(&t)); err != nil {
		return nil, err
	}
	d.restocks.Add(1)
	d.options.Logger.Info("the stock of a campaign was loaded",
		"template", template, "generation", t.Generation, "left", t.Left())
	return d.remember(&t), nil
}

// renew has the books count a new generation, and reads the campaign again.
func (d *Desk) renew(ctx context.Context, t *coupon.Template, above int64) error {
	outcome, err := d.submit(ctx, &coupon.Request{Actor: "claims", Fact: coupon.Restock{Template: t.ID, Above: above}})
	if err == nil && outcome.Status != coupon.Applied {
		err = fmt.Errorf("the books answer %s", outcome.Code)
	}
	if err != nil {
		return fmt.Errorf("count a new generation: %w", err)
	}
	again, found, err := d.books.Template(ctx, t.ID)
	if err != nil || !found {
		return fmt.Errorf("read campaign %s again (there: %t): %w", t.ID, found, err)
	}
	*t = again
	return nil
}

// StockOf gives what a campaign may still hand out.
func StockOf(t *coupon.Template) Stock {
	return Stock{
		Template: t.ID, Generation: t.Generation, Left: t.Left(), PerPerson: t.PerPerson, PerDay: t.PerDay,
		Fresh: t.Issued == 0, Until: t.ValidUntil,
	}
}
