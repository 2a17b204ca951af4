package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// ErrAway is the answer while a Redis that did not answer is left alone.
var ErrAway = errors.New("Redis is left alone because it did not answer")

// Limits of a pool.
const (
	// roundMost is how many questions one round trip carries; more take another one.
	roundMost = 1024
	// remembered is how long a request is known to have taken a coupon.
	remembered = 24 * time.Hour
	// stockKept is how long a stock outlives its campaign, and foreverKept how long one
	// lives that was loaded for a campaign without an end.
	stockKept   = 24 * time.Hour
	foreverKept = 400 * 24 * time.Hour
	// dayKept is how long the counts of a day outlive it, for claims that come late.
	dayKept = 6 * time.Hour
)

// PoolOptions shape a pool. A zero field takes its default.
type PoolOptions struct {
	// Prefix begins all keys, default "couponlease:claim:". It holds no braces: they say
	// which keys belong together in a cluster.
	Prefix string
	// Timeout is how long one call may take, default 200 ms. A caller that gives up
	// earlier learns less: that Redis is away is only seen from calls that time out here.
	Timeout time.Duration
	// RestFirst and RestMost are the shortest and the longest while for which a Redis
	// that does not answer is left alone, defaults 1 s and 30 s.
	RestFirst, RestMost time.Duration
	// OnBack is told when Redis answers again after it was away, and when the server that
	// answers was started since: what it holds may be old, and has to be loaded again. The
	// call whose answer told so waits for it. Nil tells nobody.
	OnBack func()
	// Logger is told when Redis goes and when it is back. Nil discards.
	Logger *slog.Logger
}

// PoolStats are the figures of a pool since it was made.
type PoolStats struct {
	// How many asks got which verdict.
	Granted, Already, SoldOut, UserLimit, DayLimit, NotLoaded int64
	// GivenBack is how many coupons went back into their stocks.
	GivenBack int64
	// Failed and Skipped are how many asks, returns, loads and looks had no answer, and
	// how many of them were not tried because Redis was away.
	Failed, Skipped int64
	// Away says that Redis is being left alone now.
	Away bool
}

// Pool is a claims.Pool in Redis. Persons and requests are not to be found there, only
// fingerprints of them. A Redis that does not answer is left alone for a while, in which
// everything fails with ErrAway at once. Errors tell what is wrong with Redis and nothing
// of what it was asked.
type Pool struct {
	client  *Client
	options PoolOptions
	scripts scripts
	circuit circuit
	// starts is how often the server had changed when OnBack was last told.
	starts atomic.Int64

	verdicts                   map[claims.Verdict]*atomic.Int64
	givenBack, failed, skipped atomic.Int64
}

var _ claims.Pool = (*Pool)(nil)

// NewPool makes a pool on a client, which stays the caller's.
func NewPool(client *Client, o PoolOptions) *Pool {
	o.Prefix = cmp.Or(o.Prefix, "couponlease:claim:")
	o.Timeout = cmp.Or(o.Timeout, 200*time.Millisecond)
	o.RestFirst = cmp.Or(o.RestFirst, time.Second)
	o.RestMost = max(o.RestFirst, cmp.Or(o.RestMost, 30*time.Second))
	if o.OnBack == nil {
		o.OnBack = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pool{
		client: client, options: o, scripts: newScripts(), circuit: circuit{first: o.RestFirst, most: o.RestMost},
		verdicts: map[claims.Verdict]*atomic.Int64{},
	}
	p.starts.Store(client.starts.Load())
	for _, v := range []claims.Verdict{
		claims.NotLoaded, claims.Already, claims.SoldOut, claims.UserLimit, claims.DayLimit, claims.Granted,
	} {
		p.verdicts[v] = &atomic.Int64{}
	}
	return p
}

// Take implements claims.Pool, with one round trip for up to 1,024 asks.
func (p *Pool) Take(ctx context.Context, asks []claims.Ask) []claims.Taken {
	answers := make([]claims.Taken, 0, len(asks))
	now := time.Now()
	for part := range slices.Chunk(asks, roundMost) {
		calls := make([]call, len(part))
		for i, a := range part {
			person, forget := p.counted(a, now)
			calls[i] = call{p.askKeys(a), []any{a.Generation, person, forget, remembered.Milliseconds()}}
		}
		for _, r := range p.run(ctx, p.scripts.take, calls) {
			taken := p.taken(r)
			if taken.Err != nil {
				taken.Err = fmt.Errorf("take a coupon: %w", taken.Err)
			}
			answers = append(answers, taken)
		}
	}
	return answers
}

// taken reads an answer of take.lua.
func (p *Pool) taken(r reply) claims.Taken {
	if r.err != nil {
		return claims.Taken{Err: r.err}
	}
	fields, _ := r.value.([]any)
	if len(fields) != 3 {
		return claims.Taken{Err: errNonsense}
	}
	verdict, _ := fields[0].(string)
	generation, _ := fields[1].(int64)
	count, isKnown := p.verdicts[claims.Verdict(verdict)]
	if !isKnown {
		return claims.Taken{Err: errNonsense}
	}
	count.Add(1)
	return claims.Taken{Verdict: claims.Verdict(verdict), Generation: generation, Held: fields[2] == int64(1)}
}

// GiveBack implements claims.Pool. With an error, some may have been given back.
func (p *Pool) GiveBack(ctx context.Context, returns []claims.Return) error {
	var failure error
	now := time.Now()
	for part := range slices.Chunk(returns, roundMost) {
		calls := make([]call, len(part))
		for i, r := range part {
			person, forget := p.counted(r.Ask, now)
			calls[i] = call{p.askKeys(r.Ask), []any{r.Generation, person, forget, string(r.Why), number(r.Alone)}}
		}
		for _, r := range p.run(ctx, p.scripts.giveBack, calls) {
			if r.err != nil {
				failure = cmp.Or(failure, r.err)
			} else if r.value == int64(1) {
				p.givenBack.Add(1)
			}
		}
	}
	if failure != nil {
		return fmt.Errorf("give coupons back: %w", failure)
	}
	return nil
}

// Load implements claims.Pool.
func (p *Pool) Load(ctx context.Context, s claims.Stock) error {
	seen, err := p.Level(ctx, s.Template)
	if err != nil {
		return fmt.Errorf("load a stock: %w", err)
	}
	left := s.Left
	if left != coupon.NoLimit {
		left = max(left, 0)
	}
	expires := latest(s.Until, time.Now()).Add(stockKept)
	if s.Until.IsZero() {
		expires = time.Now().Add(foreverKept)
	}
	keys := []string{
		p.stockKey(s.Template), p.personsKey(s.Template, s.Generation), p.personsKey(s.Template, seen.Generation),
		p.seenKey(s.Template, s.Generation), p.seenKey(s.Template, seen.Generation),
	}
	args := []any{
		s.Generation, left, s.PerPerson, s.PerDay, number(s.Fresh), expires.UnixMilli(), seen.Generation,
	}
	if err := p.run(ctx, p.scripts.load, []call{{keys, args}})[0].err; err != nil {
		return fmt.Errorf("load a stock: %w", err)
	}
	return nil
}

// number is how the scripts are told of truths.
func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// recalledMost is how many persons one call of recall.lua is told of.
const recalledMost = 1000

// Recall implements claims.Pool.
func (p *Pool) Recall(ctx context.Context, template string, generation int64, persons []string, last bool) error {
	keys := []string{p.stockKey(template), p.seenKey(template, generation)}
	for {
		part := persons[:min(len(persons), recalledMost)]
		persons = persons[len(part):]
		args := []any{generation, number(last && len(persons) == 0)}
		for _, person := range part {
			args = append(args, fingerprint("person", template, person))
		}
		if err := p.run(ctx, p.scripts.recall, []call{{keys, args}})[0].err; err != nil {
			return fmt.Errorf("tell who has got something: %w", err)
		}
		if len(persons) == 0 {
			return nil
		}
	}
}

// Level implements claims.Pool.
func (p *Pool) Level(ctx context.Context, template string) (level claims.Level, err error) {
	var fields []any
	var failure error
	refused := p.guard(ctx, 1, func(ctx context.Context) []error {
		fields, failure = p.client.redis.HMGet(ctx, p.stockKey(template),
			"generation", "left", "perPerson", "perDay", "exact").Result()
		return []error{failure}
	})
	if refused == nil && failure != nil {
		refused = explain(failure)
	}
	if refused != nil {
		return level, fmt.Errorf("look at a stock: %w", refused)
	}
	if len(fields) != 5 || fields[0] == nil {
		return level, nil
	}
	for i, number := range []*int64{&level.Generation, &level.Left, &level.PerPerson, &level.PerDay} {
		text, _ := fields[i].(string)
		if *number, err = strconv.ParseInt(text, 10, 64); err != nil {
			return claims.Level{}, fmt.Errorf("look at a stock: %w", errNonsense)
		}
	}
	level.Loaded, level.Complete = true, fields[4] != "0"
	return level, nil
}

// Stats gives the figures.
func (p *Pool) Stats() PoolStats {
	count := func(v claims.Verdict) int64 { return p.verdicts[v].Load() }
	return PoolStats{
		Granted: count(claims.Granted), Already: count(claims.Already), SoldOut: count(claims.SoldOut),
		UserLimit: count(claims.UserLimit), DayLimit: count(claims.DayLimit), NotLoaded: count(claims.NotLoaded),
		GivenBack: p.givenBack.Load(), Failed: p.failed.Load(), Skipped: p.skipped.Load(), Away: p.circuit.isOpen(),
	}
}
