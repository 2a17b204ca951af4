package claims_test

import (
	"context"
	"sync"

	"couponlease/internal/claims"
	"couponlease/internal/simulate"
)

// pool is a pool in memory that can be away, forget and lose answers.
type pool struct {
	mutex sync.Mutex
	*simulate.Pool
	// away fails everything; takesSilent does what Take is asked and gives no answer;
	// returnsLost fails returns.
	away, takesSilent, returnsLost bool
	// onLoad is called after each load.
	onLoad func()
	loads  int
}

func (p *pool) is(trouble *bool) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return *trouble
}

func (p *pool) let(trouble *bool, be bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	*trouble = be
}

// inside gives the pool as it is now.
func (p *pool) inside() *simulate.Pool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.Pool
}

// forget empties it, as a server does that is started anew.
func (p *pool) forget() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.Pool = simulate.NewPool()
}

func (p *pool) Take(ctx context.Context, asks []claims.Ask) []claims.Taken {
	if p.is(&p.away) {
		return failed(asks)
	}
	taken := p.inside().Take(ctx, asks)
	if p.is(&p.takesSilent) {
		return failed(asks)
	}
	return taken
}

func failed(asks []claims.Ask) []claims.Taken {
	taken := make([]claims.Taken, len(asks))
	for i := range taken {
		taken[i].Err = errAway
	}
	return taken
}

func (p *pool) GiveBack(ctx context.Context, returns []claims.Return) error {
	if p.is(&p.away) || p.is(&p.returnsLost) {
		return errAway
	}
	return p.inside().GiveBack(ctx, returns)
}

func (p *pool) Load(ctx context.Context, stock claims.Stock) error {
	if p.is(&p.away) {
		return errAway
	}
	err := p.inside().Load(ctx, stock)
	p.mutex.Lock()
	p.loads++
	onLoad := p.onLoad
	p.mutex.Unlock()
	if onLoad != nil {
		onLoad()
	}
	return err
}

func (p *pool) Level(ctx context.Context, template string) (claims.Level, error) {
	if p.is(&p.away) {
		return claims.Level{}, errAway
	}
	return p.inside().Level(ctx, template)
}

func (p *pool) Recall(ctx context.Context, template string, generation int64, persons []string, last bool) error {
	if p.is(&p.away) {
		return errAway
	}
	return p.inside().Recall(ctx, template, generation, persons, last)
}
