package daemon_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// roles gives every role a user of the shop's virtual host, and with it a URL.
func (s *shop) roles() map[string]string {
	s.t.Helper()
	definitions := amqp.PermissionDefinitions(s.broker.VHost)
	urls := map[string]string{}
	name := func(role string) string { return s.broker.VHost + "_" + role }
	for _, role := range amqp.Roles() {
		urls[role.User] = s.broker.Login(s.t, name(role.User), "management")
	}
	for i := range definitions.Permissions {
		definitions.Permissions[i].User = name(definitions.Permissions[i].User)
	}
	for i := range definitions.TopicPermissions {
		definitions.TopicPermissions[i].User = name(definitions.TopicPermissions[i].User)
	}
	s.broker.Import(s.t, definitions)
	return urls
}

// send publishes a fact with a routing key and headers of the sender's choice.
func send(t *testing.T, url, key string, headers amqp091.Table, f fact) {
	t.Helper()
	conn, err := amqp091.Dial(url)
	must(t, err, "log in")
	defer conn.Close()
	channel, err := conn.Channel()
	must(t, err, "open channel")
	must(t, channel.Confirm(false), "enable confirms")
	body, err := json.Marshal(f.content)
	must(t, err, "encode fact")
	confirm, err := channel.PublishWithDeferredConfirm(amqp.ExchangeCommerce, key, false, false, amqp091.Publishing{
		MessageId: f.id, Type: f.kind, ContentType: "application/json", Timestamp: time.Now(), Headers: headers, Body: body,
	})
	must(t, err, "publish "+f.id)
	if !confirm.Wait() {
		t.Fatalf("%s is refused", f.id)
	}
}

// Each part with the rights of its role and no more: the daemon works without the
// right to declare anything, and an order service that says it is a payment
// service is not believed, however it tries.
func TestEverybodyHasOnlyTheRightsOfTheirRole(t *testing.T) {
	s := newShop(t)
	s.issue(0, 1)
	urls := s.roles()
	declarer, err := amqp.Connect(amqp.ConnConfig{URL: urls[amqp.UserDeclarer]})
	must(t, err, "connect")
	defer declarer.Close()
	must(t, amqp.Apply(t.Context(), declarer, amqp.DefaultLayout(amqp.Options{})), "apply layout")

	cfg := s.config()
	cfg.Topology = string(amqp.ModeVerify)
	cfg.AMQPURL = urls[amqp.UserWorker]
	cfg.AMQPManagementURL = s.broker.ManagementFor(t, urls[amqp.UserWorker])
	d := start(t, cfg)
	send(t, urls[amqp.UserOrderService], messages.TypeOrderPlaced, nil, placed(0, 0))
	s.eventuallyInState(0, coupon.Locked)

	forged := paid(0)
	for name, headers := range map[string]amqp091.Table{
		"type":       nil,
		"own-header": {"couponlease-routing-key": forged.kind, "couponlease-exchange": "elsewhere"},
		// RabbitMQ 3 does not compare these with the rights of the sender.
		"cc":  {"CC": []any{forged.kind}},
		"bcc": {"BCC": []any{forged.kind}},
	} {
		f := forged
		f.id = "forged-" + name
		send(t, urls[amqp.UserOrderService], messages.TypeOrderPlaced, headers, f)
	}
	// By copy a forgery comes twice, once in each queue.
	testkit.Eventually(t, patience, "the forgeries are buried", func() (bool, string) {
		buried := d.metric(telemetry.MessagesSettled, `action="BURY"`)
		return buried == 6, fmt.Sprint(buried)
	})
	if state := s.state(0); state != coupon.Locked {
		t.Errorf("the coupon is %s: a forged payment was believed", state)
	}
	send(t, urls[amqp.UserPaymentService], forged.kind, nil, forged)
	s.eventuallyInState(0, coupon.Used)
	s.eventuallyPublished()
	if parked := d.metric(telemetry.OutboxParked); parked > 0 {
		t.Errorf("%v events could not be published", parked)
	}
}
