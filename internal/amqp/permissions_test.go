package amqp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"couponlease/internal/testkit"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// guarded is a virtual host with the product's layout, made by the user whose
// task that is, and with the rights of the files in deploy/rabbitmq.
type guarded struct {
	testkit.Broker
	urls map[string]string // by role
}

func newGuarded(t testing.TB) guarded {
	t.Helper()
	g := guarded{Broker: testkit.RabbitMQ(t), urls: map[string]string{}}
	users, rights := readDefinitions(t, "users.json"), readDefinitions(t, "definitions.json")
	for i := range users.Users {
		users.Users[i].Name = g.user(users.Users[i].Name)
		g.DeleteUser(t, users.Users[i].Name)
	}
	for i := range rights.Permissions {
		p := &rights.Permissions[i]
		p.User, p.VHost = g.user(p.User), g.VHost
	}
	for i := range rights.TopicPermissions {
		p := &rights.TopicPermissions[i]
		p.User, p.VHost = g.user(p.User), g.VHost
	}
	g.Import(t, users)
	g.Import(t, rights)
	for _, role := range Roles() {
		g.urls[role.User] = g.Login(t, g.user(role.User), strings.Join(role.Tags, ","))
	}
	if err := Apply(testContext(t), connect(t, g.urls[UserDeclarer]), DefaultLayout(Options{})); err != nil {
		t.Fatalf("%s applies the layout to an empty virtual host: %v", UserDeclarer, err)
	}
	return g
}

// user is the name that a role's user has in this test: users are the broker's,
// not the virtual host's.
func (g guarded) user(role string) string { return g.VHost + "_" + role }

func readDefinitions(t testing.TB, name string) Definitions {
	t.Helper()
	content, err := os.ReadFile("../../deploy/rabbitmq/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var d Definitions
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// may lets a role try something and says whether the broker allows it. Any other
// answer than yes or ACCESS_REFUSED fails the test.
func (g guarded) may(t testing.TB, role string, try func(*amqp091.Channel) error) bool {
	t.Helper()
	conn, err := amqp091.Dial(g.urls[role])
	if err != nil {
		t.Fatalf("%s logs in: %v", role, err)
	}
	defer conn.Close()
	return mayOn(t, conn, role, try)
}

func mayOn(t testing.TB, conn *amqp091.Connection, role string, try func(*amqp091.Channel) error) bool {
	t.Helper()
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	closed := channel.NotifyClose(make(chan *amqp091.Error, 1))
	err = try(channel)
	if err == nil {
		// A publication is refused by closing the channel, later.
		if err = channel.Close(); err == nil {
			return true
		}
	}
	if errors.Is(err, amqp091.ErrClosed) {
		err = <-closed
	}
	if !isCode(err, amqp091.AccessRefused) {
		t.Fatalf("%s: %v, want yes or ACCESS_REFUSED", role, err)
	}
	return false
}

func publishTo(exchange, key string) func(*amqp091.Channel) error {
	return func(ch *amqp091.Channel) error {
		if err := ch.Confirm(false); err != nil {
			return err
		}
		confirm, err := ch.PublishWithDeferredConfirm(exchange, key, false, false, amqp091.Publishing{})
		if err == nil && !confirm.Wait() {
			err = amqp091.ErrClosed
		}
		return err
	}
}

func consumeFrom(queue string) func(*amqp091.Channel) error {
	return func(ch *amqp091.Channel) error {
		_, err := ch.Consume(queue, "", false, false, false, false, nil)
		return err
	}
}

func declareQueue(name string, args amqp091.Table) func(*amqp091.Channel) error {
	return func(ch *amqp091.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, args)
		return err
	}
}

func declareExchange(name string, args amqp091.Table) func(*amqp091.Channel) error {
	return func(ch *amqp091.Channel) error {
		return ch.ExchangeDeclare(name, "topic", true, false, false, false, args)
	}
}

func bindQueue(queue, key, exchange string) func(*amqp091.Channel) error {
	return func(ch *amqp091.Channel) error { return ch.QueueBind(queue, key, exchange, false, nil) }
}

func deleteQueue(ch *amqp091.Channel, name string) error {
	_, err := ch.QueueDelete(name, false, false, false)
	return err
}

// everybody tries something; exactly the roles named may do it.
func (g guarded) everybody(t *testing.T, what string, try func(*amqp091.Channel) error, allowed ...string) {
	t.Helper()
	t.Run(what, func(t *testing.T) {
		for _, role := range Roles() {
			if got, want := g.may(t, role.User, try), slices.Contains(allowed, role.User); got != want {
				t.Errorf("%s may: %t, want %t", role.User, got, want)
			}
		}
	})
}

func TestPermissionsToPublish(t *testing.T) {
	g := newGuarded(t)
	workers := []string{UserWorker, UserDeclarer}
	for key, allowed := range map[string][]string{
		"order.placed.v1":      {UserOrderService, UserOperator},
		"order.closed.v1":      {UserOrderService, UserOperator},
		"payment.succeeded.v1": {UserPaymentService, UserOperator},
		"refund.approved.v1":   {UserRefundService, UserOperator},
		"orders.placed.v1":     nil,
		"order":                nil,
		"x.payment.v1":         nil,
	} {
		g.everybody(t, "fact "+key, publishTo(ExchangeCommerce, key), allowed...)
	}
	for key, allowed := range map[string][]string{
		"coupon.lock.v1":             {UserOrderService, UserOperator},
		"coupon.renew.v1":            {UserOrderService, UserOperator},
		"coupon.release.v1":          {UserOrderService, UserTill, UserOperator},
		"coupon.swap.v1":             {UserOrderService, UserOperator},
		"coupon.redeem.v1":           {UserTill, UserOperator},
		"coupon.redeem_requested.v1": {UserTill, UserOperator},
		"coupon.void.v1":             {UserOperator},
		"coupon.reverse.v1":          {UserOperator},
		"coupon.issue.v1":            {UserCampaigns, UserOperator},
		"coupon.claim.v1":            {UserCampaigns, UserOperator},
		"order.placed.v1":            nil,
	} {
		g.everybody(t, "command "+key, publishTo(ExchangeCommands, key), allowed...)
	}
	g.everybody(t, "event", publishTo(ExchangeEvents, "coupon.locked.v1"), workers...)
	g.everybody(t, "dead letter", publishTo(ExchangeDead, QueueCommands), workers...)
	g.everybody(t, "delay", publishTo(delayLevelName(3), "0"), workers...)
	g.everybody(t, "end of a delay", publishTo(ExchangeDelivery, "x"), workers...)
	for _, queue := range WorkQueues() {
		g.everybody(t, "straight into "+queue, publishTo("", queue), workers...)
	}
}

func TestPermissionsToRead(t *testing.T) {
	g := newGuarded(t)
	for _, queue := range append(WorkQueues(), QueueDead) {
		g.everybody(t, "consume "+queue, consumeFrom(queue), UserWorker, UserDeclarer)
	}
	g.everybody(t, "consume what cannot be delivered", consumeFrom(QueueUndeliverable))
	// Who creates a queue that dead-letters has to be able to read it.
	g.everybody(t, "consume a delay level", consumeFrom(delayLevelName(0)), UserDeclarer)
	g.everybody(t, "purge", func(ch *amqp091.Channel) error {
		_, err := ch.QueuePurge(QueueUndeliverable, false)
		return err
	})
	g.everybody(t, "delete", func(ch *amqp091.Channel) error { return deleteQueue(ch, QueueClaims) }, UserDeclarer)
}

// Ways round the rights on routing keys, which the broker does not check on what
// comes from another exchange or out of a queue.
func TestPermissionsCannotBePassedBy(t *testing.T) {
	g := newGuarded(t)
	for _, role := range []string{UserOrderService, UserPaymentService, UserRefundService, UserCampaigns, UserTill, UserOperator} {
		for what, try := range map[string]func(*amqp091.Channel) error{
			"an exchange of its own":    declareExchange(role+".x", nil),
			"an alternate exchange":     declareExchange(role+".x", amqp091.Table{"alternate-exchange": ExchangeCommerce}),
			"a queue that dead-letters": declareQueue(role+".q", amqp091.Table{"x-dead-letter-exchange": ExchangeCommerce}),
			"a queue without a name":    declareQueue("", nil),
			"the broker's own exchange bound": func(ch *amqp091.Channel) error {
				return ch.ExchangeBind(ExchangeCommerce, "#", "amq.topic", false, nil)
			},
			"events bound": func(ch *amqp091.Channel) error {
				return ch.ExchangeBind(ExchangeCommerce, "#", ExchangeEvents, false, nil)
			},
			"the broker's own exchange": publishTo("amq.topic", "x"),
		} {
			if g.may(t, role, try) {
				t.Errorf("%s may use %s", role, what)
			}
		}
	}
	for what, try := range map[string]func(*amqp091.Channel) error{
		"a queue that dead-letters":       declareQueue("listener.q", amqp091.Table{"x-dead-letter-exchange": ExchangeEvents}),
		"a queue that feeds a work queue": declareQueue("listener.q", amqp091.Table{"x-dead-letter-exchange": ""}),
		"another's prefix":                declareQueue("reply.till", nil),
		"a work queue's name":             declareQueue(QueueCommands, nil),
	} {
		if g.may(t, UserListener, try) {
			t.Errorf("%s may use %s", UserListener, what)
		}
	}
}

func TestPermissionsOfListeners(t *testing.T) {
	g := newGuarded(t)
	for _, step := range []struct {
		what string
		try  func(*amqp091.Channel) error
	}{
		{"declare", declareQueue("listener.mail", amqp091.Table{"x-queue-type": "quorum"})},
		{"bind", bindQueue("listener.mail", "coupon.locked.#", ExchangeEvents)},
		{"consume", consumeFrom("listener.mail")},
		{"delete", func(ch *amqp091.Channel) error { return deleteQueue(ch, "listener.mail") }},
	} {
		if !g.may(t, UserListener, step.try) {
			t.Fatalf("%s may not %s a queue of its own", UserListener, step.what)
		}
	}
	if !g.may(t, UserListener, declareQueue("listener.mail", nil)) {
		t.Fatalf("%s may not declare a queue of its own", UserListener)
	}
	for _, exchange := range []string{ExchangeCommerce, ExchangeCommands, ExchangeDead, ExchangeDelivery} {
		if g.may(t, UserListener, bindQueue("listener.mail", "#", exchange)) {
			t.Errorf("%s may listen to %s", UserListener, exchange)
		}
	}
}

// A command by direct reply-to needs no right but that to publish it; a queue
// for answers is declared by whoever may.
func TestPermissionsForAnswers(t *testing.T) {
	g := newGuarded(t)
	worker := broker{Broker: testkit.Broker{URL: g.urls[UserWorker]}}
	messages := subscribe(t, worker.subscriber(t, SubscriberConfig{}), QueueCommands)
	answers := worker.publisher(t)

	client, err := amqp091.Dial(g.urls[UserOrderService])
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	channel, err := client.Channel()
	if err != nil {
		t.Fatal(err)
	}
	replies, err := channel.Consume("amq.rabbitmq.reply-to", "", true, false, false, false, nil)
	if err != nil {
		t.Fatalf("direct reply-to: %v", err)
	}
	for i, replyTo := range []string{"amq.rabbitmq.reply-to", ReplyPrefix + UserOrderService} {
		if i == 1 {
			own := amqp091.Table{"x-queue-type": "quorum"}
			administrator := broker{Broker: g.Broker, conn: connect(t, g.URL)}
			administrator.change(t, declareQueue(replyTo, own))
			if replies, err = channel.Consume(replyTo, "", true, false, false, false, nil); err != nil {
				t.Fatalf("consume the queue for answers: %v", err)
			}
		}
		request := amqp091.Publishing{MessageId: fmt.Sprint(i), ReplyTo: replyTo, CorrelationId: fmt.Sprint("c", i)}
		if err := channel.PublishWithContext(t.Context(), ExchangeCommands, "coupon.lock.v1", true, false, request); err != nil {
			t.Fatal(err)
		}
		msg := receive(t, messages)
		msg.Ack()
		// The broker returns a mandatory message to a direct reply-to, which is no queue.
		publishAll(t, answers, []Publication{{
			Key: msg.Metadata.Get(MetaReplyTo), CorrelationID: msg.Metadata.Get(MetaCorrelationID), Mandatory: i == 1,
		}})
		if reply := <-replies; reply.CorrelationId != request.CorrelationId {
			t.Errorf("reply to %s has correlation id %q", replyTo, reply.CorrelationId)
		}
	}
}

// The worker without rights to declare finds out whether the layout is there,
// and with the management API whether it is right.
func TestPermissionsToVerify(t *testing.T) {
	g := newGuarded(t)
	ctx, layout := testContext(t), DefaultLayout(Options{})
	conn := connect(t, g.urls[UserWorker])
	management, err := NewManagement(g.ManagementFor(t, g.urls[UserWorker]), g.VHost, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*Management{"with management": management, "without": nil} {
		if err := Ensure(ctx, conn, layout, ModeVerify, m); err != nil {
			t.Errorf("verify %s: %v", name, err)
		}
	}
	if err := Apply(ctx, conn, layout); !isCode(err, amqp091.AccessRefused) {
		t.Errorf("apply as %s: %v, want ACCESS_REFUSED", UserWorker, err)
	}
	other := DefaultLayout(Options{DeliveryLimit: 7})
	for i := range other.Exchanges {
		if other.Exchanges[i].Name == ExchangeDead {
			other.Exchanges[i].Kind = "fanout"
		}
	}
	differences, err := Verify(ctx, conn, other, management)
	if err != nil {
		t.Fatal(err)
	}
	found := map[DifferenceKind]int{}
	for _, d := range differences {
		found[d.Kind]++
	}
	if found[Inequivalent] != len(WorkQueues())+1 || found[Unchecked] > 0 {
		t.Errorf("another layout: %v\n%v", found, differences)
	}
	differences, err = Verify(ctx, conn, other, nil)
	if err != nil || len(differences) == 0 || differences[0].Kind != Unchecked {
		t.Errorf("without management: %v, %v, want unchecked objects", differences, err)
	}
}

// Nobody can log in before an operator has set a password.
func TestUsersComeWithoutPasswords(t *testing.T) {
	b := testkit.RabbitMQ(t)
	name := b.VHost + "_new"
	b.DeleteUser(t, name)
	b.Import(t, Definitions{
		Users:       []UserDefinition{{Name: name, Tags: []string{}}},
		Permissions: []PermissionDefinition{{User: name, VHost: b.VHost, Configure: nothing, Write: nothing, Read: nothing}},
	})
	uri, err := amqp091.ParseURI(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	uri.Username = name
	// The broker takes some seconds to refuse.
	var guesses sync.WaitGroup
	for _, password := range []string{"", name, "guest"} {
		guesses.Go(func() {
			guess := uri
			guess.Password = password
			conn, err := amqp091.Dial(guess.String())
			if err == nil {
				conn.Close()
			}
			if !IsRefused(err) {
				t.Errorf("password %q: %v, want a refusal", password, err)
			}
		})
	}
	guesses.Wait()
	conn, err := amqp091.Dial(b.Login(t, name, ""))
	if err != nil {
		t.Fatalf("with a password: %v", err)
	}
	conn.Close()
}
