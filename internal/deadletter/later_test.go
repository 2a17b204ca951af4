package deadletter_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/fleet"
	"couponlease/internal/policy"
	"couponlease/internal/testkit"
)

// file files one letter about a message of a queue and gives its id.
func file(t *testing.T, space *fleet.Space, queue string, fact amqp.Publication) string {
	t.Helper()
	l := deadletter.NewLetter(deadletter.Incoming{
		MessageID: fact.ID, Type: fact.Type, ContentType: fact.ContentType, Timestamp: fact.Timestamp, Body: fact.Body,
	})
	l.ID = uuid.Must(uuid.NewV7()).String()
	l.Queue, l.Exchange, l.RoutingKey = queue, fact.Exchange, fact.Key
	l.Fail("HANDLER_ERROR", "it broke for "+fact.ID, time.Now().Add(-time.Minute))
	if err := space.Store.FileLetters(t.Context(), []deadletter.Letter{l}); err != nil {
		t.Fatal(err)
	}
	return l.ID
}

// apply has a fact decided and committed; held is called before the commit, with all
// rows locked.
func apply(t *testing.T, space *fleet.Space, id string, fact coupon.Fact, held func()) (outcome coupon.Outcome) {
	t.Helper()
	requests := []coupon.Request{{ID: id, Hash: sha256.Sum256([]byte(id)), At: time.Now(), Actor: "test", Fact: fact}}
	err := space.Store.Apply(context.Background(), requests, func(world *coupon.World) {
		outcome = coupon.Decide(world, &requests[0])
		held()
		world.Seal()
	})
	if err != nil {
		t.Errorf("apply %s: %v", id, err)
	}
	return outcome
}

func session(t *testing.T, space *fleet.Space) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), space.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// T60: a refund that is tried again after the policy was changed is decided by the policy
// under which its coupon was issued; coupons issued since have the new one.
func TestT60ARetriedRefundIsDecidedByThePolicyOfTheIssue(t *testing.T) {
	t.Parallel()
	space := fleet.NewSpace(t)
	orders := fleet.BoughtOrders(2)
	for i := range orders {
		orders[i].Story = fleet.Returned // in full: the policy of the first issue gives the coupon back
	}
	space.Import(t, []string{orders[0].Coupon})
	today := policy.Policy{Version: 7, Full: policy.Keep, Partial: policy.Keep, Chargeback: policy.Keep}
	apply(t, space, "", coupon.DefinePolicy{Policy: today}, func() {})
	_, err := session(t, space).Exec(t.Context(), "update coupon_template set policy_version = 7, version = version + 1")
	if err != nil {
		t.Fatal(err)
	}
	space.Import(t, []string{orders[1].Coupon})
	fleet.Start(t, program("coupond"), space)

	var ids []string
	var bought []amqp.Publication
	for _, order := range orders {
		facts := order.Facts(time.Now().Add(-time.Hour))
		bought = append(bought, facts[:2]...)
		ids = append(ids, file(t, space, amqp.QueueRefundApproved, facts[2]))
	}
	space.Publish(t, bought)
	space.WaitForSettled(t, bought)
	for _, order := range orders {
		space.CheckState(t, order.Coupon, coupon.Used)
	}
	job := replay(t, space, deadletter.Plan{Filter: deadletter.Filter{IDs: ids}})
	if got := outcomes(t, space, job.ID); got[deadletter.Applied] != 2 {
		t.Errorf("the replay ended with %v", got)
	}
	for i, want := range []struct {
		state   coupon.State
		version int64
	}{{coupon.Available, policy.DefaultVersion}, {coupon.Used, today.Version}} {
		space.CheckState(t, orders[i].Coupon, want.state)
		var version int64
		err := session(t, space).QueryRow(t.Context(), "select policy_version from refund_coupon where coupon_id = $1",
			orders[i].Coupon).Scan(&version)
		if err != nil || version != want.version {
			t.Errorf("the refund of %s was decided by policy %d, want %d: %v", orders[i].Coupon, version, want.version, err)
		}
	}
	job = replay(t, space, deadletter.Plan{Filter: deadletter.Filter{IDs: ids}, Force: true})
	if got := outcomes(t, space, job.ID); got[deadletter.Duplicate] != 2 {
		t.Errorf("replayed once more they are %v", got)
	}
	space.Check(t)
}

// forecast is what a dry run says of one letter.
type forecast struct {
	Verdict deadletter.Verdict `json:"verdict"`
	Detail  string             `json:"detail"`
}

func predict(t *testing.T, ctl func(...string) string, letter string) (f forecast) {
	t.Helper()
	first, _, _ := strings.Cut(ctl("dead", "replay", letter, "--dry-run", "-o", "json"), "\n")
	if err := json.Unmarshal([]byte(first), &f); err != nil {
		t.Errorf("%v in %q", err, first)
	}
	return f
}

// T68: an order that failed wants a coupon that a newer one is just about to take. A dry
// run waits for the newer one and says what will come of it; the replay ends like that,
// and takes nothing from the newer order.
func TestT68ANewerMessageInFlightShowsInTheDryRun(t *testing.T) {
	t.Parallel()
	space := fleet.NewSpace(t)
	ctl := couponctl(t, space)
	order := fleet.BoughtOrders(1)[0]
	space.Import(t, []string{order.Coupon})
	facts := order.Facts(time.Now().Add(-time.Hour))
	letter := file(t, space, amqp.QueueOrderPlaced, facts[0])
	if got, want := predict(t, ctl, letter), (forecast{deadletter.WouldApply, string(coupon.OK)}); got != want {
		t.Errorf("while nobody else wants the coupon: %+v, want %+v", got, want)
	}

	watching := session(t, space)
	predicted := make(chan forecast, 1)
	newer := coupon.OrderPlaced{Order: "newer", Customer: "bea", Payable: 900, Currency: "EUR",
		Wanted: []coupon.Wanted{{Coupon: order.Coupon}}}
	outcome := apply(t, space, "newer", newer, func() {
		go func() { predicted <- predict(t, ctl, letter) }()
		testkit.Eventually(t, patience, "the dry run waits for the newer message", func() (bool, string) {
			var waiting int
			err := watching.QueryRow(t.Context(), `select count(*) from pg_stat_activity
				where application_name like '%couponctl%' and wait_event_type = 'Lock'`).Scan(&waiting)
			return err == nil && waiting == 1, fmt.Sprint(waiting, err)
		})
	})
	conflict := <-predicted
	if outcome.Code != coupon.OK || conflict.Detail == string(coupon.OK) {
		t.Errorf("the newer order got %s, and the dry run says %+v", outcome.Code, conflict)
	}
	t.Logf("predicted: %+v", conflict)

	fleet.Start(t, program("coupond"), space)
	job := replay(t, space, deadletter.Plan{Filter: deadletter.Filter{IDs: []string{letter}}})
	if got := outcomes(t, space, job.ID); got[deadletter.Applied] != 1 || conflict.Verdict != deadletter.WouldApply {
		t.Errorf("%s was predicted, and came of it: %v", conflict.Verdict, got)
	}
	if got := space.Answer(t, facts[0].ID); got != conflict.Detail {
		t.Errorf("answered %s, predicted %s", got, conflict.Detail)
	}
	if out := ctl("timeline", order.Coupon); !strings.Contains(out, "newer") || !strings.Contains(out, conflict.Detail) {
		t.Errorf("the timeline does not tell both orders apart:\n%s", out)
	}
	space.CheckState(t, order.Coupon, coupon.Locked)
	space.Check(t)
}
