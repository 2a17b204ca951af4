package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// Campaign defines a campaign of so many coupons, perPerson for each person.
func (s *Space) Campaign(t testing.TB, id string, total, perPerson int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	terms := coupon.Unlimited()
	terms.Total, terms.PerPerson = total, perPerson
	e := engine.New(s.Store, func(*coupon.Changes) ([]coupon.OutboxRow, error) { return nil, nil },
		engine.Options{Limits: batcher.Limits{Workers: 1}})
	defer func() { must(t, e.Close(ctx), "close the defining engine") }()
	_, errs := e.SubmitAll(ctx, []coupon.Request{{
		Fact: coupon.DefineTemplate{Template: coupon.Template{ID: id, Terms: terms}},
	}})
	must(t, errs[0], "define campaign "+id)
}

// Claim is one message of somebody who claims a coupon.
type Claim struct{ Message, Key, Campaign, Person string }

// Claims gives the claims of people first to last, in a random, repeatable order. A share
// of them comes twice: half of these again under the same key, the others by the same person
// under another one.
func Claims(campaign string, first, last int, repeated float64, seed int64) []Claim {
	random := rand.New(rand.NewSource(seed))
	var all []Claim
	for i := first; i < last; i++ {
		person := fmt.Sprintf("%s/person-%06d", campaign, i)
		claim := Claim{Message: person + "/1", Key: person + "/a", Campaign: campaign, Person: person}
		all = append(all, claim)
		if random.Float64() < repeated {
			claim.Message = person + "/2"
			if random.Intn(2) == 0 {
				claim.Key = person + "/b"
			}
			all = append(all, claim)
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Desk sends claims and collects the answers, as an app of the shop would.
type Desk struct {
	space *Space
	queue string

	mutex   sync.Mutex
	sent    int
	answers map[string][]messages.CommandReply // by the id of the message
	broken  []string
}

// OpenDesk opens a queue for answers and collects from now on.
func OpenDesk(t testing.TB, space *Space) *Desk {
	t.Helper()
	d := &Desk{space: space, queue: "reply.fleet", answers: map[string][]messages.CommandReply{}}
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	layout := amqp.Layout{Queues: []amqp.Queue{{Name: d.queue, Args: map[string]any{"x-queue-type": "quorum"}}}}
	must(t, amqp.Apply(ctx, space.Conn, layout), "declare the queue for answers")
	subscriber := amqp.NewSubscriber(space.Conn, amqp.SubscriberConfig{})
	t.Cleanup(func() { must(t, subscriber.Close(), "close the subscriber of answers") })
	incoming, err := subscriber.Subscribe(context.Background(), d.queue)
	must(t, err, "listen to answers")
	go func() {
		for msg := range incoming {
			d.take(msg.Metadata.Get(amqp.MetaCorrelationID), msg.Payload)
			msg.Ack()
		}
	}()
	return d
}

func (d *Desk) take(message string, body []byte) {
	var reply messages.CommandReply
	err := json.Unmarshal(body, &reply)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err != nil {
		d.broken = append(d.broken, err.Error())
		return
	}
	d.answers[message] = append(d.answers[message], reply)
}

// Send publishes claims, each a message that was not sent before, beside the test.
func (d *Desk) Send(t testing.TB, claims []Claim) *Background {
	publications := make([]amqp.Publication, len(claims))
	for i, c := range claims {
		body, err := json.Marshal(map[string]any{
			"idempotencyKey": c.Key, "templateId": c.Campaign, "customerId": c.Person,
		})
		must(t, err, "encode a claim")
		publications[i] = amqp.Publication{
			Exchange: messages.ExchangeCommands, Key: messages.TypeClaimCoupon, Type: messages.TypeClaimCoupon,
			ID: c.Message, CorrelationID: c.Message, ReplyTo: d.queue, ContentType: "application/json",
			Timestamp: time.Now().UTC(), Body: body, Mandatory: true,
		}
	}
	d.mutex.Lock()
	d.sent += len(claims)
	d.mutex.Unlock()
	return PublishInBackground(t, d.space, publications)
}

// WaitForAnswers waits until every claim that was sent has an answer.
func (d *Desk) WaitForAnswers(t testing.TB) {
	t.Helper()
	testkit.Eventually(t, settleLimit, "every claim has an answer", func() (bool, string) {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		return len(d.answers) >= d.sent, fmt.Sprintf("%d of %d", len(d.answers), d.sent)
	})
}

// Answers gives the answers to one claim, more than one if it was worked on more than once.
func (d *Desk) Answers(c Claim) []messages.CommandReply {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.answers[c.Message]
}

// Broken lists the answers that could not be read.
func (d *Desk) Broken() []string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return append([]string(nil), d.broken...)
}
