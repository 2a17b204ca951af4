package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/messages"
)

// Defaults of Options.
const (
	DefaultTimeout     = 10 * time.Second
	DefaultAskAgain    = 2 * time.Second
	DefaultMaxInFlight = 256
)

// Limits on times that are not worth a setting.
const (
	heartbeat    = 10 * time.Second
	dialTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
	closeTimeout = 5 * time.Second
	firstResend  = 50 * time.Millisecond
	lastResend   = 2 * time.Second
	// A session whose broker owes it more confirmations, or one for longer, is ended:
	// calls that are over would leave their receipts behind without end.
	owedPerCall = 4
	owedFor     = 30 * time.Second
	owedCheck   = time.Second
)

// Options shape a client. Only URL and Source are required.
type Options struct {
	// URL is amqp:// or amqps://, with credentials and virtual host.
	URL string
	// Source names the service that sends, such as "checkout". It is the
	// CloudEvents source of every message, what the ledger shows as who caused a
	// change, and how the broker shows the connection to operators.
	Source string
	// TLS is for amqps URLs; nil trusts the authorities of the system.
	TLS *tls.Config
	// Timeout bounds calls whose context has no deadline; 0 is DefaultTimeout.
	Timeout time.Duration
	// AskAgain is how long a command that the broker has waits for its answer before
	// it is sent again, the same message under the same key; each further wait is twice
	// as long. The first answer counts. 0 is DefaultAskAgain.
	AskAgain time.Duration
	// MaxInFlight bounds the calls that are under way at once; more of them wait.
	// 0 is DefaultMaxInFlight.
	MaxInFlight int
	// MinBackoff and MaxBackoff bound the wait between attempts to connect;
	// 0 is 200 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration
	// TraceParent gives the W3C trace context that a message passes on; nil, or an
	// empty text, passes on none.
	TraceParent func(context.Context) string
	// Logger hears of lost connections; nil hears nothing.
	Logger *slog.Logger
}

// String hides the broker's password.
func (o Options) String() string { return "options of the coupon client of " + o.Source }

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.AskAgain = cmp.Or(o.AskAgain, DefaultAskAgain)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, DefaultMaxInFlight)
	o.MinBackoff = cmp.Or(o.MinBackoff, 200*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 10*time.Second)
	if o.TraceParent == nil {
		o.TraceParent = func(context.Context) string { return "" }
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

func (o Options) check() error {
	if _, err := amqp091.ParseURI(o.URL); err != nil {
		// The cause would quote the URL, and with it the password.
		return errors.New("the broker's URL is not of the form amqp://user:password@host:port/vhost")
	}
	switch {
	case o.Source == "" || len(o.Source) > messages.MaxID:
		return fmt.Errorf("source must have 1 to %d bytes", messages.MaxID)
	case o.Timeout < 0, o.AskAgain < 0, o.MinBackoff < 0, o.MaxBackoff < 0:
		return errors.New("a timeout, wait or backoff is below 0")
	case o.MinBackoff > o.MaxBackoff:
		return fmt.Errorf("the shortest backoff, %s, is longer than the longest, %s", o.MinBackoff, o.MaxBackoff)
	case o.MaxInFlight < 0:
		return errors.New("the number of calls in flight is below 0")
	}
	return nil
}
