package daemon_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/quota"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// campaign defines a campaign of so many coupons, one for each person.
func (s *shop) campaign(id string, total int64) {
	s.t.Helper()
	terms := coupon.Unlimited()
	terms.Total, terms.PerPerson = total, 1
	s.ask(coupon.DefineTemplate{Template: coupon.Template{ID: id, Terms: terms}})
}

// claim has a claim answered.
func (w *till) claim(template, person, key string) messages.CommandReply {
	w.shop.t.Helper()
	w.asked++
	id := fmt.Sprintf("%s-%d", w.queue, w.asked)
	body, err := json.Marshal(map[string]any{"idempotencyKey": key, "templateId": template, "customerId": person})
	must(w.shop.t, err, "encode claim")
	errs := w.shop.publisher.PublishBatch(w.shop.t.Context(), []amqp.Publication{{
		Exchange: messages.ExchangeCommands, Key: messages.TypeClaimCoupon, Type: messages.TypeClaimCoupon,
		ID: id, CorrelationID: id, ReplyTo: w.queue, ContentType: "application/json", Mandatory: true,
		Timestamp: time.Now(), Body: body,
	}})
	must(w.shop.t, errs[0], "publish claim")
	var reply messages.CommandReply
	must(w.shop.t, json.Unmarshal([]byte(w.answer(id, key)), &reply), "read the answer")
	return reply
}

// A campaign is claimed through Redis until it is sold out; then nobody asks the database,
// but those who come again for the coupon that they have.
func TestASoldOutCampaignCostsTheDatabaseNothing(t *testing.T) {
	s := newShop(t)
	s.campaign("spring", 2)
	cfg := s.config()
	cfg.RedisURL, cfg.RedisPrefix = testkit.Redis(t)
	d := start(t, cfg)
	events, w := s.listen(), s.openTill("reply.app")
	first := w.claim("spring", "ann", "k1")
	if again := w.claim("spring", "ann", "k1"); first.Outcome != "OK" || again.CouponID != first.CouponID {
		t.Fatalf("claimed %+v, and again %+v", first, again)
	}
	if reply := w.claim("spring", "Ann ", "k2"); reply.Outcome != "OK" || reply.CouponID == first.CouponID {
		t.Errorf("another person was answered %+v", reply)
	}
	events.eventually(t, messages.TypeCouponIssued, 2)
	events.eventually(t, messages.TypeCampaignSoldOut, 1)

	committed := d.metric(telemetry.RequestsCommitted)
	kept := s.answers()
	for i := range 50 {
		reply := w.claim("spring", fmt.Sprint("p", i), fmt.Sprint("late-", i))
		if reply.Outcome != string(coupon.QuotaExhausted) || reply.PublicCode != messages.PublicSoldOut || reply.CouponID != "" {
			t.Fatalf("answered %+v", reply)
		}
	}
	events.eventually(t, messages.TypeCouponClaimRejected, 50)
	if n := d.metric(telemetry.RequestsCommitted); n != committed {
		t.Errorf("the engine was asked %v times about a campaign that is sold out", n-committed)
	}
	if n := s.answers(); n != kept {
		t.Errorf("%d answers to refused claims are kept", n-kept)
	}
	if n := d.metric(telemetry.ClaimsRefused); n != 50 {
		t.Errorf("%v claims are counted as refused, want 50", n)
	}
	if again := w.claim("spring", "ann", "k1"); again.CouponID != first.CouponID {
		t.Errorf("asked again after all was sold: %+v", again)
	}
}

// Without Redis the database answers, and what it answered is right in Redis afterwards.
func TestClaimsGoOnWithoutRedis(t *testing.T) {
	s := newShop(t)
	s.campaign("spring", 5)
	url, prefix := testkit.Redis(t)
	redis := testkit.NewProxy(t, url)
	cfg := s.config()
	cfg.RedisURL, cfg.RedisPrefix = redis.URL, prefix
	d := start(t, cfg)
	w := s.openTill("reply.app")
	want := func(outcome coupon.Code, person string) {
		t.Helper()
		if reply := w.claim("spring", person, "key of "+person); reply.Outcome != string(outcome) {
			t.Errorf("%s was answered %+v, want %s", person, reply, outcome)
		}
	}
	want(coupon.OK, "a")
	redis.Cut()
	for _, person := range []string{"b", "c", "d"} {
		want(coupon.OK, person)
	}
	if reply := w.claim("spring", "b", "another key"); reply.Outcome != string(coupon.LimitReached) {
		t.Errorf("a second coupon: %+v", reply)
	}
	if n := d.metric(telemetry.ClaimsBypassed); n < 4 {
		t.Errorf("%v claims are counted as past Redis, want 4 at least", n)
	}
	redis.Restore()
	s.eventuallyLeft(t, cfg.RedisPrefix, url, d, 1)
	want(coupon.OK, "e")
	want(coupon.QuotaExhausted, "f")
}

// answers counts the answers to commands that are kept.
func (s *shop) answers() int64 {
	s.t.Helper()
	counts, err := s.store.Counts(s.t.Context(), 0)
	must(s.t, err, "count")
	return counts.Commands
}

// eventuallyLeft waits until Redis holds what the campaign has left.
func (s *shop) eventuallyLeft(t *testing.T, prefix, url string, d *running, left int64) {
	t.Helper()
	client, err := quota.Open(url, quota.ClientOptions{})
	must(t, err, "open Redis")
	defer func() { must(t, client.Close(), "close Redis") }()
	pool := quota.NewPool(client, quota.PoolOptions{Prefix: prefix + "claim:"})
	testkit.Eventually(t, patience, "Redis holds what is left", func() (bool, string) {
		level, err := pool.Level(t.Context(), "spring")
		return err == nil && level.Loaded && level.Left == left, fmt.Sprintf("%+v, %v, %v", level, err,
			d.metric(telemetry.QuotaAway))
	})
}
