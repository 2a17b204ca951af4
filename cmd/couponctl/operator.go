package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/messages"
)

// given is what all commands have in common that change a coupon by hand.
type given struct {
	Key          string `placeholder:"KEY" help:"Idempotency key; one is drawn and printed if absent. The same command with the same key is done once."`
	Actor        string `placeholder:"WHO" help:"Who gives the command, for ledger and audit log; user@host if absent."`
	OutboxShards int    `default:"1" env:"COUPONLEASE_OUTBOX_SHARDS" help:"Outbox shards, as the daemons have it."`

	// Rules decide about the command as they do in the daemons.
	config.Rules `embed:""`
}

// why is the reason of a command that changes money or takes something away.
type why struct {
	Reason string `required:"" placeholder:"TEXT" help:"Why, for the audit log."`
}

// maybeWhy is the reason of a command that does neither.
type maybeWhy struct {
	Reason string `placeholder:"TEXT" help:"Why, for the audit log; may be left out."`
}

// errRefused ends a command whose result says that it was refused.
var errRefused = errors.New("refused")

// who gives the command.
func (g given) who() string { return cmp.Or(g.Actor, actor()) }

// carry has a command carried out and prints its answer.
func (g given) carry(s *session, reason string, m func(messages.CommandHead) messages.Message) error {
	return g.ask(s, func(d *console.Database, key string) (console.CommandResult, error) {
		return d.Carry(s.ctx, console.Order{
			Key: key, Actor: g.who(), Reason: reason, Shards: g.OutboxShards, Message: m,
		})
	})
}

// ask has something carried out under a key, and prints the answer.
func (g given) ask(s *session, what func(d *console.Database, key string) (console.CommandResult, error)) error {
	return ask(g, s, what)
}

// answer is what a command was answered.
type answer interface {
	console.Result
	// Refused says that nothing was done.
	Refused() bool
}

// ask has something carried out under the key that is given, or a drawn one.
func ask[A answer](g given, s *session, what func(d *console.Database, key string) (A, error)) error {
	if g.OutboxShards < 1 || g.OutboxShards > 1024 {
		return console.Usage(fmt.Errorf("--outbox-shards %d: choose 1 to 1024", g.OutboxShards))
	}
	if err := g.CheckRules(); err != nil {
		return console.Usage(err)
	}
	s.rules = g.ForCoupons()
	return s.withSchema(func(d *console.Database) error {
		key := g.Key
		if key == "" {
			id, err := uuid.NewV7()
			if err != nil {
				return fmt.Errorf("draw a key: %w", err)
			}
			key = id.String()
			// Before anything is done: whoever does not see the answer needs it.
			fmt.Fprintf(s.stderr, "couponctl: to repeat this command safely add --key %s\n", key)
		}
		result, err := what(d, key)
		if err != nil {
			return err
		}
		if err := s.write(result); err != nil {
			return err
		}
		if result.Refused() {
			return errRefused
		}
		return nil
	})
}

// mustSay refuses a reason that says nothing.
func (w why) mustSay() error {
	if strings.TrimSpace(w.Reason) == "" {
		return console.Usage(errors.New("--reason: say why"))
	}
	return nil
}

// shown is where lease tokens come from.
type shown struct {
	TokenFile string `placeholder:"FILE" help:"File with the lease's token, - for standard input; COUPONLEASE_LEASE_TOKEN if absent."`
	Version   int64  `placeholder:"N" help:"Refuse if the lease's last lock or renewal has another version; any if absent."`
}

const tokenVariable = "COUPONLEASE_LEASE_TOKEN"

// tokenHelp is part of every help text about a command that needs a token.
const tokenHelp = `The token comes from --token-file, from standard input (--token-file -), or from the environment variable
COUPONLEASE_LEASE_TOKEN. It is no argument, because everybody on the machine sees those (ps), and shells keep them.`

// token reads the lease's token. Its errors never show it.
func (c shown) token(s *session) (messages.Token, error) {
	if c.Version < 0 {
		return "", console.Usage(fmt.Errorf("--version %d: versions begin at 1", c.Version))
	}
	text := os.Getenv(tokenVariable)
	if c.TokenFile != "" {
		source, err := s.open(c.TokenFile)
		if err != nil {
			return "", console.Usage(err)
		}
		defer source.Close()
		content, err := io.ReadAll(io.LimitReader(source, messages.MaxBody))
		if err != nil {
			return "", fmt.Errorf("read the token: %w", err)
		}
		text = string(content)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", console.Usage(errors.New("no lease token: name its file with --token-file, or - for standard input, " +
			"or set " + tokenVariable))
	}
	return messages.Token(text), nil
}

// term gives the wire's form of a length of time.
func term(lease time.Duration) (messages.LeaseTerm, error) {
	if lease < 0 || lease%time.Second != 0 {
		return messages.LeaseTerm{}, console.Usage(fmt.Errorf("--lease %s: choose whole seconds", lease))
	}
	return messages.LeaseFor(int64(lease / time.Second)), nil
}
