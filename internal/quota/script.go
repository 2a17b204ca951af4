package quota

import (
	"context"
	_ "embed" // for the scripts
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts; each says at its top what it is given and what it answers.
var (
	//go:embed lua/take.lua
	takeLua string
	//go:embed lua/give_back.lua
	giveBackLua string
	//go:embed lua/load.lua
	loadLua string
	//go:embed lua/recall.lua
	recallLua string
)

// script is one of them, and the name by which a server knows it.
type script struct{ text, sha string }

func newScript(text string) script { return script{text, redis.NewScript(text).Hash()} }

type scripts struct{ take, giveBack, load, recall script }

func newScripts() scripts {
	return scripts{take: newScript(takeLua), giveBack: newScript(giveBackLua), load: newScript(loadLua), recall: newScript(recallLua)}
}

// call is one run of a script; all its keys belong to one campaign.
type call struct {
	keys []string
	args []any
}

// reply is what a script answered, or why it did not.
type reply struct {
	value any
	err   error
}

// errNonsense is that Redis answers something that no script says.
var errNonsense = errors.New("Redis answers what the program does not understand: another version may use the same keys")

// run runs a script for each call and gives as many replies, with errors explained.
func (p *Pool) run(ctx context.Context, s script, calls []call) []reply {
	replies := make([]reply, len(calls))
	refused := p.guard(ctx, int64(len(calls)), func(ctx context.Context) []error {
		failures := make([]error, len(calls))
		for i, cmd := range p.round(ctx, s, calls) {
			replies[i].value, failures[i] = cmd.Result()
			if failures[i] != nil {
				replies[i].err = explain(failures[i])
			}
		}
		return failures
	})
	if refused != nil {
		for i := range replies {
			if replies[i].value == nil {
				replies[i].err = refused
			}
		}
	}
	return replies
}

// round asks for all calls in one round trip. Each is a call of its own, because they
// may concern different nodes. A server that has forgotten the script, which any restart
// and SCRIPT FLUSH make it do, has not run what it was asked: it is given the script and
// asked again, once.
func (p *Pool) round(ctx context.Context, s script, calls []call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	pipe := p.client.redis.Pipeline()
	for i, c := range calls {
		cmds[i] = pipe.EvalSha(ctx, s.sha, c.keys, c.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	isForgotten := func(cmd *redis.Cmd) bool { return redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") }
	if !slices.ContainsFunc(cmds, isForgotten) {
		return cmds
	}
	again := p.client.redis.Pipeline()
	again.ScriptLoad(ctx, s.text)
	for i, c := range calls {
		if isForgotten(cmds[i]) {
			cmds[i] = again.EvalSha(ctx, s.sha, c.keys, c.args...)
		}
	}
	_, _ = again.Exec(ctx)
	return cmds
}

// guard asks n questions by do, unless Redis is away, and keeps the time limit, the
// circuit and the figures. do gives the error of each question. The error of guard says
// that there are no answers because Redis is away or the caller has gone.
func (p *Pool) guard(ctx context.Context, n int64, do func(context.Context) []error) error {
	if !p.circuit.allow(time.Now()) {
		p.failed.Add(n)
		p.skipped.Add(n)
		return ErrAway
	}
	question, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	failures := do(question)
	var failed int64
	var down error
	for _, err := range failures {
		if err == nil {
			continue
		}
		failed++
		if why := explain(err); why.concernsAll {
			down = why
		}
	}
	if down != nil && ctx.Err() != nil {
		p.circuit.abandoned()
		return context.Cause(ctx)
	}
	p.failed.Add(failed)
	if down != nil {
		if p.circuit.failed(time.Now()) {
			p.options.Logger.Warn("Redis cannot hand out coupons; until it can, the database does", "error", down)
		}
		return nil
	}
	p.answered()
	return nil
}

// answered notes that Redis serves, and tells who wants to know that it did not before,
// or that it is another Redis than before.
func (p *Pool) answered() {
	isBack := p.circuit.succeeded()
	starts := p.client.starts.Load()
	isAnother := p.starts.Swap(starts) != starts
	switch {
	case isBack:
		p.options.Logger.Info("Redis hands out coupons again")
	case isAnother:
		p.options.Logger.Info("Redis was started again, or is another one")
	default:
		return
	}
	p.options.OnBack()
}
