package claims

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
)

// Engine answers requests, one answer or error each.
type Engine interface {
	SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error)
}

// Books are what the database knows.
type Books interface {
	// Template gives a campaign without a lock, and whether it exists.
	Template(ctx context.Context, id string) (coupon.Template, bool, error)
	// AnswersTo gives what commands were answered, by key; those that were not carried out
	// are not among them.
	AnswersTo(ctx context.Context, keys []string) (map[string]*coupon.Answer, error)
	// Claimants lists, after one and in order, persons who have a coupon of a campaign that
	// they claimed or were issued.
	Claimants(ctx context.Context, template, after string, limit int) ([]string, error)
	// Alone does some work on a campaign while nobody else, in no replica, does.
	Alone(ctx context.Context, template string, work func(context.Context) error) error
}

// Refusal is a claim that was refused without asking the engine.
type Refusal struct {
	Request *coupon.Request
	Answer  *coupon.Answer
	Code    coupon.Code
}

// Rejection gives the event that tells the world of a refusal.
func Rejection(r Refusal, now time.Time) coupon.Event {
	event := coupon.Event{
		Kind: coupon.EventClaimRejected, Refused: r.Code, Cause: r.Request.ID, Trace: r.Request.Trace, At: now,
	}
	if f, claim := r.Request.Fact.(coupon.ClaimCoupon); claim {
		event.Template, event.Batch, event.Customer = f.Template, f.Batch, coupon.FoldPerson(f.Person)
	}
	return event
}

// Reply gives the answer to send under an id, nil when nobody asked for one.
func (r Refusal) Reply(id string, now time.Time) *coupon.Reply {
	if r.Request.Reply == nil {
		return nil
	}
	return &coupon.Reply{ID: id, To: *r.Request.Reply, Answer: r.Answer, Trace: r.Request.Trace, At: now}
}

// Teller tells the askers and the world of refusals; there are as many errors as refusals.
type Teller interface {
	Tell(ctx context.Context, refusals []Refusal) []error
}

// Options shape a desk. A zero field takes its default.
type Options struct {
	// WithoutPool is how many claims a second may go to the engine while the pool does not
	// answer, default 500.
	WithoutPool int
	// Zone gives the time zone of an IANA name, Now the time; defaults are those of the
	// system.
	Zone func(name string) (*time.Location, error)
	Now  func() time.Time
	// Logger is told what went wrong with the pool. Nil discards.
	Logger *slog.Logger
}

// Desk answers claims: it takes each from the pool first, and from the books what the pool
// has granted. Every other request goes to the engine as it is. Its methods may be called
// from any goroutine.
type Desk struct {
	engine  Engine
	pool    Pool
	books   Books
	options Options

	takes     *batcher.Batcher[Ask, Taken]
	tells     *batcher.Batcher[Refusal, error]
	looks     *batcher.Batcher[string, bool]
	campaigns campaigns
	flights   singleflight.Group
	limiter   *rate.Limiter

	refused, bypassed, restocks, lost atomic.Int64
	// warned is when it was last told, in ns, that claims go past the pool.
	warned atomic.Int64
}

// Stats are the figures of a desk since it was made.
type Stats struct {
	// Refused claims never reached the engine, Bypassed went there without the pool,
	// Restocks is how often this desk loaded a stock, and Lost how many returns the pool did
	// not take: it holds that much less than there is, until somebody notices.
	Refused, Bypassed, Restocks, Lost int64
}

// New starts a desk; Close ends it.
func New(engine Engine, pool Pool, books Books, teller Teller, o Options) *Desk {
	if o.WithoutPool == 0 {
		o.WithoutPool = 500
	}
	if o.Zone == nil {
		o.Zone = time.LoadLocation
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Desk{
		engine: engine, pool: pool, books: books, options: o,
		campaigns: campaigns{known: map[string]*campaign{}},
		limiter:   rate.NewLimiter(rate.Limit(o.WithoutPool), o.WithoutPool),
	}
	d.takes = batcher.New(func(ctx context.Context, asks []Ask) ([]Taken, error) {
		return pool.Take(ctx, asks), nil
	}, batcher.Options[Ask]{})
	d.tells = batcher.New(func(ctx context.Context, refusals []Refusal) ([]error, error) {
		return teller.Tell(ctx, refusals), nil
	}, batcher.Options[Refusal]{})
	d.looks = batcher.New(func(ctx context.Context, keys []string) ([]bool, error) {
		known, err := books.AnswersTo(ctx, keys)
		answered := make([]bool, len(keys))
		for i, key := range keys {
			answered[i] = known[key] != nil
		}
		return answered, err
	}, batcher.Options[string]{})
	return d
}

// Close takes no more claims and answers those that it took.
func (d *Desk) Close(ctx context.Context) error {
	if err := d.takes.Close(ctx); err != nil {
		return fmt.Errorf("finish questions to the pool: %w", err)
	}
	if err := d.looks.Close(ctx); err != nil {
		return fmt.Errorf("finish looking for answers: %w", err)
	}
	if err := d.tells.Close(ctx); err != nil {
		return fmt.Errorf("finish refusals: %w", err)
	}
	return nil
}

// Stats gives the figures.
func (d *Desk) Stats() Stats {
	return Stats{
		Refused: d.refused.Load(), Bypassed: d.bypassed.Load(), Restocks: d.restocks.Load(), Lost: d.lost.Load(),
	}
}

// SubmitAll asks several things in order; answers and errors are one each.
func (d *Desk) SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	if len(requests) == 1 {
		if f, claim := requests[0].Fact.(coupon.ClaimCoupon); claim {
			outcome, err := d.claim(ctx, &requests[0], f)
			return []coupon.Outcome{outcome}, []error{err}
		}
	}
	outcomes, errs := d.engine.SubmitAll(ctx, requests)
	for i := range requests {
		if f, edit := requests[i].Fact.(coupon.EditTemplate); edit && errs[i] == nil && outcomes[i].Status == coupon.Applied {
			if err := d.Edited(ctx, f.Template); err != nil {
				d.options.Logger.Warn("the pool does not know yet of an edited campaign", "template", f.Template, "error", err)
			}
		}
	}
	return outcomes, errs
}

// Edited has the pool take the stock of an edited campaign. When that fails, a survey sees
// it later.
func (d *Desk) Edited(ctx context.Context, template string) error {
	d.flights.Forget(flight(template, missing)) // one that is under way may have read what was before
	_, err := d.restock(ctx, template, missing)
	return err
}

// claim answers one claim.
func (d *Desk) claim(ctx context.Context, r *coupon.Request, f coupon.ClaimCoupon) (coupon.Outcome, error) {
	c, err := d.campaign(ctx, f.Template)
	if err != nil || c == nil {
		// No limit, or no campaign: the engine knows. And it alone can wait for a database
		// that is away.
		return d.submit(ctx, r)
	}
	ask, taken, err := d.take(ctx, r, f, c)
	switch {
	case err != nil:
		return coupon.Outcome{}, err
	case taken.Err != nil:
		return d.bypass(ctx, r, ask, taken.Err)
	case taken.Verdict == Granted || taken.Verdict == Already:
		outcome, err := d.submit(ctx, r)
		if err == nil {
			d.settle(ctx, c, ask, taken.Verdict, outcome)
		}
		return outcome, err
	}
	isHeld := taken.Held || d.campaigns.misses(f.Template)
	if isHeld && f.Batch != "" {
		return d.askBooks(ctx, r) // whoever has one of the batch is told it again
	}
	if isHeld {
		if isAnswered, err := d.looks.Submit(ctx, r.Key); err != nil || isAnswered {
			return d.submit(ctx, r)
		}
	}
	return d.refuse(ctx, r, taken.Verdict)
}

func (d *Desk) submit(ctx context.Context, r *coupon.Request) (coupon.Outcome, error) {
	outcomes, errs := d.engine.SubmitAll(ctx, []coupon.Request{*r})
	return outcomes[0], errs[0]
}

// takesMost bounds how often a claim asks the pool, while stocks change under it.
const takesMost = 4

// take asks the pool, and has the stock loaded if that is missing. The ask is the one that
// was answered last.
func (d *Desk) take(ctx context.Context, r *coupon.Request, f coupon.ClaimCoupon, c *campaign) (ask Ask, taken Taken, err error) {
	for range takesMost {
		ask = c.ask(r, f, d.options.Now())
		if taken, err = d.takes.Submit(ctx, ask); err != nil {
			return ask, taken, fmt.Errorf("ask the pool: %w", err)
		}
		if taken.Err != nil || taken.Verdict != NotLoaded {
			return ask, taken, nil
		}
		if c, err = d.restock(ctx, f.Template, missing); err != nil {
			taken.Err = err
			return ask, taken, nil
		}
		if c == nil { // the limits are gone meanwhile
			return ask, Taken{Verdict: Already}, nil
		}
	}
	taken.Err = fmt.Errorf("the stock of campaign %s changed %d times in a row", f.Template, takesMost)
	return ask, taken, nil
}

// bypass goes on without the pool, no faster than the database bears.
func (d *Desk) bypass(ctx context.Context, r *coupon.Request, ask Ask, cause error) (coupon.Outcome, error) {
	d.warn(ask.Template, cause)
	outcome, err := d.askBooks(ctx, r)
	if err != nil {
		return outcome, err
	}
	d.bypassed.Add(1)
	switch {
	case outcome.Status == coupon.Applied:
		d.campaigns.suspect(ask.Template, ills{bypassed: 1})
	case !hasAlready(outcome):
		// What was asked of the pool may have been done there all the same.
		d.giveBack(ctx, Return{Ask: ask, Why: why(outcome)})
	}
	return outcome, nil
}

// warnEvery is the least time between two warnings that claims go past the pool: one line,
// however many they are.
const warnEvery = time.Minute

func (d *Desk) warn(template string, cause error) {
	now, last := d.options.Now().UnixNano(), d.warned.Load()
	if last != 0 && now-last < int64(warnEvery) || !d.warned.CompareAndSwap(last, now) {
		return
	}
	d.options.Logger.Warn("claims go past the pool, no faster than the database bears", "template", template, "error", cause)
}

// askBooks asks for a claim without the pool, no faster than the database bears.
func (d *Desk) askBooks(ctx context.Context, r *coupon.Request) (coupon.Outcome, error) {
	if err := d.limiter.Wait(ctx); err != nil {
		return coupon.Outcome{}, fmt.Errorf("wait for the database path of claims: %w", err)
	}
	return d.submit(ctx, r)
}

// settle gives back what the books did not need of what the pool had granted. An error
// of the engine is no answer: the message comes again and finds what it took.
func (d *Desk) settle(ctx context.Context, c *campaign, ask Ask, verdict Verdict, outcome coupon.Outcome) {
	back := Return{Ask: ask, Why: why(outcome)}
	switch {
	case outcome.Status == coupon.Applied:
		return
	case outcome.Code == coupon.IdempotencyMismatch && verdict == Already:
		return // the key is somebody else's, and so is what it took
	case outcome.Code == coupon.IdempotencyMismatch:
		back.Alone = true // or somebody else's after all, who came at the same time
	case hasAlready(outcome) && (verdict == Already || c.endless):
		return // this is what it took the first time
	case hasAlready(outcome):
		// The pool had forgotten what it took, or another copy of the message was faster, whose
		// it is then. Somebody who has something stays counted, or would be a newcomer.
		back.Person, back.Alone = "", true
	}
	d.giveBack(ctx, back)
}

// hasAlready says whether a request is told again of the coupon that it got.
func hasAlready(outcome coupon.Outcome) bool {
	return outcome.Status == coupon.Repeated && outcome.First == coupon.OK
}

func why(outcome coupon.Outcome) Verdict {
	switch outcome.Code {
	case coupon.LimitReached:
		return UserLimit
	case coupon.DailyLimitReached:
		return DayLimit
	case coupon.QuotaExhausted:
		return SoldOut
	default:
		return ""
	}
}

// returnMost bounds how long a return may take; the claim is answered by then.
const returnMost = time.Second

func (d *Desk) giveBack(ctx context.Context, back Return) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnMost)
	defer cancel()
	if err := d.pool.GiveBack(ctx, []Return{back}); err != nil {
		d.lost.Add(1)
		d.campaigns.suspect(back.Template, ills{lost: 1})
		d.options.Logger.Debug("a coupon was not given back to the pool", "template", back.Template, "error", err)
	}
}

// refuse answers a claim that the pool has refused.
func (d *Desk) refuse(ctx context.Context, r *coupon.Request, verdict Verdict) (coupon.Outcome, error) {
	code := map[Verdict]coupon.Code{
		SoldOut: coupon.QuotaExhausted, UserLimit: coupon.LimitReached, DayLimit: coupon.DailyLimitReached,
	}[verdict]
	answer := &coupon.Answer{
		Key: r.Key, Hash: r.Hash, Kind: coupon.Kind(r.Fact), Status: coupon.Refused, Code: code,
		Cause: r.ID, Actor: r.Actor, At: r.At, Done: d.options.Now(),
	}
	failed, err := d.tells.Submit(ctx, Refusal{Request: r, Answer: answer, Code: code})
	if err == nil {
		err = failed
	}
	if err != nil {
		return coupon.Outcome{}, fmt.Errorf("tell of a refused claim: %w", err)
	}
	d.refused.Add(1)
	return coupon.Outcome{Status: coupon.Refused, Code: code, Answer: answer}, nil
}
