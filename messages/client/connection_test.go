package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/testkit"
	"couponlease/messages"
)

// TestAConnectionLostBeforeTheAnswer: the command is sent again under its key, and
// the answer to the first, which has nowhere to go, does no harm.
func TestAConnectionLostBeforeTheAnswer(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	answered := s.locking(patient(t), c, "key-1")
	s.depth(commandQueue, 1)
	s.broker.CloseConnections(t)
	s.depth(commandQueue, 2)
	s.connect()
	first, second := s.take(commandQueue), s.take(commandQueue)
	for _, d := range []amqp091.Delivery{first, second} {
		if e := received(t, d); keyOf(t, e) != "key-1" || string(d.Body) != string(first.Body) || e.ID != first.MessageId {
			t.Errorf("got %s as %s, want the same content and id again", d.Body, d.MessageId)
		}
	}
	if first.ReplyTo == second.ReplyTo {
		t.Error("the command that was sent again has the old reply-to")
	}
	s.answer(first, messages.CommandReply{Outcome: "OK", State: "first"})
	s.answer(second, messages.CommandReply{Outcome: "OK", State: "second"})
	if got := <-answered; got.err != nil || got.reply.State != "second" {
		t.Errorf("got %+v, want the answer to the second", got)
	}
	s.depth(commandQueue, 0)
}

func TestCallsWaitForTheConnection(t *testing.T) {
	s := newShop(t, nil)
	proxy := testkit.NewProxy(t, s.broker.URL)
	c := s.client(func(o *Options) { o.URL = proxy.URL })
	s.must(c.Publish(patient(t), "id-1", closed))
	proxy.Cut()
	testkit.Eventually(t, limit, "the client misses the connection", func() (bool, string) {
		err := c.Ready(hasty(t))
		return err != nil && errors.Is(err, context.DeadlineExceeded), "it is ready"
	})
	err := c.Publish(hasty(t), "id-2", closed)
	failure(t, err, context.DeadlineExceeded, false, "id-2")
	if !strings.Contains(err.Error(), "connect") {
		t.Errorf("the error does not say what is wrong: %v", err)
	}
	answered := s.locking(patient(t), c, "key-1")
	proxy.Restore()
	s.answer(s.take(commandQueue), messages.CommandReply{Outcome: "OK"})
	s.must((<-answered).err)
	s.must(c.Ready(patient(t)))
}

// TestAMessageThatTheBrokerRefuses fails at once and costs the others nothing.
func TestAMessageThatTheBrokerRefuses(t *testing.T) {
	s := newShop(t, nil)
	s.must(s.channel.ExchangeDelete(messages.ExchangeCommerce, false, false))
	c := s.client(nil)
	answered := s.locking(patient(t), c, "key-1")
	s.depth(commandQueue, 1)
	err := c.Publish(patient(t), "id-1", closed)
	failure(t, err, ErrRefused, true, "id-1")
	s.depth(commandQueue, 2)
	s.take(commandQueue)
	s.answer(s.take(commandQueue), messages.CommandReply{Outcome: "OK"})
	s.must((<-answered).err)
}

// TestAUserWithoutTheRight: the order service may not say that something was paid,
// and is told so; what it may do goes on.
func TestAUserWithoutTheRight(t *testing.T) {
	s := newShop(t, nil)
	user := s.broker.VHost + "_orders"
	address := s.broker.Login(t, user, "")
	right := map[string]string{"user": user, "vhost": s.broker.VHost, "configure": "", "read": ""}
	topic := maps.Clone(right)
	right["write"] = `^(commerce|coupon\.commands)$`
	topic["exchange"], topic["write"] = messages.ExchangeCommerce, `^order\.`
	s.broker.Import(t, map[string]any{
		"permissions": []any{right}, "topic_permissions": []any{topic},
	})
	c := s.client(func(o *Options) { o.URL = address })
	answered := s.locking(patient(t), c, "key-1")
	s.depth(commandQueue, 1)
	err := c.Publish(patient(t), "id-1", messages.PaymentSucceeded{
		OrderID: "o1", PaymentID: "p1", Amount: messages.Money{Amount: 1, Currency: "EUR"},
	})
	failure(t, err, ErrRefused, true, "id-1")
	s.must(c.Publish(patient(t), "id-2", closed))
	s.depth(commandQueue, 2)
	s.take(commandQueue)
	s.answer(s.take(commandQueue), messages.CommandReply{Outcome: "OK"})
	s.must((<-answered).err)
}

func TestWhomTheBrokerMeant(t *testing.T) {
	paid := &outgoing{exchange: "commerce", key: "payment.succeeded.v1"}
	for reason, refused := range map[string]bool{
		"NOT_FOUND - no exchange 'commerce' in vhost '/'":                                                       true,
		"NOT_FOUND - no exchange 'coupon.commands' in vhost '/'":                                                false,
		"ACCESS_REFUSED - write access to exchange 'commerce' in vhost '/' refused for user 'orders'":           true,
		"ACCESS_REFUSED - write access to topic 'payment.succeeded.v1' in exchange 'commerce' in vhost '/' ref": true,
		"ACCESS_REFUSED - write access to topic 'order.placed.v1' in exchange 'commerce' in vhost '/' refused":  false,
		"ACCESS_REFUSED - access to topic 'payment.succeeded.v1' in exchange 'other' in vhost '/' refused":      false,
		"CONNECTION_FORCED - broker shut down":                                                                  false,
	} {
		code := amqp091.AccessRefused
		if strings.HasPrefix(reason, "CONNECTION") {
			code = amqp091.ConnectionForced
		}
		s := session{reason: &amqp091.Error{Code: code, Reason: reason}}
		if err := s.lossFor(paid); errors.Is(err, ErrRefused) != refused || errors.Is(err, errAgain) == refused {
			t.Errorf("%s: got %v, want it refused: %t", reason, err, refused)
		}
	}
}

func TestCloseWaitsForTheCallsUnderWay(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	answered := s.locking(patient(t), c, "key-1")
	d := s.take(commandQueue)
	shut := make(chan error, 1)
	go func() { shut <- c.Close(patient(t)) }()
	testkit.Eventually(t, limit, "no more calls are taken", func() (bool, string) {
		err := c.Publish(patient(t), "id-1", closed)
		return errors.Is(err, ErrClosed), "published"
	})
	select {
	case err := <-shut:
		t.Fatalf("closed before the answer came: %v", err)
	default:
	}
	s.answer(d, messages.CommandReply{Outcome: "OK"})
	s.must((<-answered).err)
	s.must(<-shut)
	failure(t, c.Publish(patient(t), "id-1", closed), ErrClosed, false, "id-1")
	s.must(c.Close(context.Background()))
	if err := c.Ready(patient(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("ready after closing: got %v, want ErrClosed", err)
	}
}

func TestCloseCutsShortWhatTakesTooLong(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	answered := s.locking(patient(t), c, "key-1")
	s.take(commandQueue)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Close(ended); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 calls") {
		t.Errorf("got %v, want that one call was cut short", err)
	}
	failure(t, (<-answered).err, ErrClosed, true, "key-1")
}

func TestCloseWithoutAConnection(t *testing.T) {
	c, err := New(Options{URL: "amqp://127.0.0.1:1", Source: "checkout"})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Ready(hasty(t))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the deadline passed", err)
	}
	if err := c.Close(patient(t)); err != nil {
		t.Error(err)
	}
}

func TestDialFailsAtOnce(t *testing.T) {
	s := newShop(t, nil)
	wrong, err := url.Parse(s.broker.URL)
	s.must(err)
	wrong.User = url.UserPassword(s.broker.VHost, "wr0ng-passw0rd")
	for name, opts := range map[string]Options{
		"nobody listens":    {URL: "amqp://u:wr0ng-passw0rd@127.0.0.1:1", Source: "checkout"},
		"a wrong password":  {URL: wrong.String(), Source: "checkout"},
		"no URL":            {URL: "u:wr0ng-passw0rd", Source: "checkout"},
		"no source":         {URL: s.broker.URL},
		"a long source":     {URL: s.broker.URL, Source: strings.Repeat("x", 201)},
		"a timeout below 0": {URL: s.broker.URL, Source: "checkout", Timeout: -1},
		"a wait below 0":    {URL: s.broker.URL, Source: "checkout", AskAgain: -1},
		"backoffs reversed": {URL: s.broker.URL, Source: "checkout", MinBackoff: time.Hour},
		"calls below 0":     {URL: s.broker.URL, Source: "checkout", MaxInFlight: -1},
	} {
		c, err := Dial(patient(t), opts)
		if err == nil || c != nil {
			t.Errorf("%s: got a client", name)
		} else if strings.Contains(err.Error(), "wr0ng-passw0rd") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}

func TestPrintingShowsNoPassword(t *testing.T) {
	opts := Options{URL: "amqp://u:passw0rd@127.0.0.1:1", Source: "checkout"}
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%v %+v %s %v %+v", c, c, c, opts, opts); strings.Contains(shown, "passw0rd") ||
		!strings.Contains(shown, "checkout") {
		t.Errorf("printed as %s", shown)
	}
	if err := c.Close(patient(t)); err != nil {
		t.Error(err)
	}
}

// TestTLS connects through a proxy that speaks TLS to the client.
func TestTLS(t *testing.T) {
	s := newShop(t, nil)
	authority := testkit.NewAuthority(t)
	proxy := testkit.NewTLSProxy(t, s.broker.URL, &tls.Config{
		Certificates: []tls.Certificate{authority.Server(t, "127.0.0.1").TLS},
	})
	trusting := &tls.Config{RootCAs: authority.Pool}
	c := s.client(func(o *Options) { o.URL, o.TLS = proxy.URL, trusting })
	s.must(c.Publish(patient(t), "id-1", closed))
	if trusting.ServerName != "" {
		t.Error("the caller's configuration was changed")
	}
	if _, err := Dial(patient(t), Options{URL: proxy.URL, Source: "checkout"}); err == nil {
		t.Error("a certificate that nobody vouches for was accepted")
	}
}
