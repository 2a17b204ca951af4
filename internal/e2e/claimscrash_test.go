package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
)

// A replica dies with many claims between Redis and the commit: another one gets them
// again, each gets one coupon, and Redis has not counted any of them twice.
func TestReplicaDiesBetweenRedisAndTheCommit(t *testing.T) {
	const people, total = 200, 300
	h := openHall(t, fleet.NewSpace(t), 1)
	h.space.Campaign(t, "spring", total, 1)
	first := fleet.Claims("spring", 0, 1, 0, 1)
	h.desk.Send(t, first).Wait(t)
	h.desk.WaitForAnswers(t) // the stock is loaded

	free := holdCampaign(t, h.space, "spring")
	crowd := fleet.Claims("spring", 1, people, 0, 1)
	h.desk.Send(t, crowd).Wait(t)
	level := func() int64 {
		level, err := h.pool.Level(context.Background(), "spring")
		if err != nil {
			t.Fatal(err)
		}
		return level.Left
	}
	testkit.Eventually(t, time.Minute, "Redis has granted all", func() (bool, string) {
		left := level()
		return left == total-people, fmt.Sprint(left)
	})
	if issued := h.space.Template(t, "spring").Issued; issued != 1 {
		t.Fatalf("%d are issued while the campaign is held", issued)
	}
	h.replicas[0].Signal(t, syscall.SIGKILL)
	h.replicas[0].Wait(t, time.Minute)
	second := fleet.Start(t, h.binary, h.space)
	free()
	h.desk.WaitForAnswers(t)

	seen := map[string]bool{}
	for _, claim := range append(first, crowd...) {
		for _, reply := range h.desk.Answers(claim) {
			if reply.Outcome != "OK" || seen[reply.CouponID] {
				t.Errorf("%s was answered %+v, or has what somebody else has", claim.Person, reply)
			}
		}
		seen[h.desk.Answers(claim)[0].CouponID] = true
	}
	if issued := h.space.Template(t, "spring").Issued; issued != people || len(seen) != people {
		t.Errorf("%d are issued, %d different ones, want %d", issued, len(seen), people)
	}
	if left := level(); left != total-people {
		t.Errorf("Redis has %d left, want %d", left, total-people)
	}
	if n := saidBy(t, second, "already"); n != people-1 {
		t.Errorf("Redis said %v times that a claim has its coupon already, want %d", n, people-1)
	}
	h.space.WaitForStock(t, h.pool, "spring")
	h.checkIssued(t)
	h.space.CheckNoDeadLetters(t)
	h.space.CheckTemplates(t)
	h.space.Check(t)
}

// holdCampaign keeps everybody from changing a campaign until it is freed.
func holdCampaign(t *testing.T, space *fleet.Space, id string) (free func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), space.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // which ends the transaction, if there is one
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select 1 from coupon_template where template_id = $1 for update", id); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// saidBy gives how many claims of a replica had a verdict of Redis.
func saidBy(t *testing.T, replica *fleet.Process, verdict string) float64 {
	t.Helper()
	n, err := replica.Metric("couponlease_claims_asked_total" + `{verdict="` + verdict + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
