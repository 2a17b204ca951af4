package e2e

import (
	"cmp"
	"database/sql"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"couponlease/internal/fleet"
)

// formerSchema is the newest migration that the schema of the release before has.
const formerSchema = 11

// formerVariable names the coupond of the release before, to be the replica that works on
// the new schema; without it that is this release. By hand, before a release:
//
//	COUPONLEASE_TEST_FORMER=/path/to/coupond go test ./internal/e2e -run TestUpgrade -v
const formerVariable = "COUPONLEASE_TEST_FORMER"

// Replicas of a new release that start too early end, say what to do, and take no message.
// The order that is documented works, whoever does each step how often at once; and a
// release goes on, and starts, on the schema of one that is newer.
func TestUpgrade(t *testing.T) {
	space := fleet.NewSpace(t)
	ctl, binary := newOperator(t, space), fleet.Binary(t)
	orders := fleet.Orders(240)
	space.Import(t, fleet.Codes(orders))
	sink := fleet.Listen(t, space)
	facts := fleet.Shuffle(orders, time.Now().Add(-time.Hour), 0.2, 10)
	third := len(facts) / 3
	before, during, after := facts[:third], facts[third:2*third], facts[2*third:]
	old := fleet.Start(t, cmp.Or(os.Getenv(formerVariable), binary), space)
	space.Publish(t, before)
	space.WaitForSettled(t, before)
	old.Signal(t, syscall.SIGTERM)
	old.Wait(t, time.Minute)
	migrateDownTo(t, space, formerSchema)

	space.Publish(t, during)
	waiting := space.Waiting(t)
	var early []*fleet.Process
	for range 3 {
		early = append(early, fleet.Launch(t, binary, space))
	}
	for _, replica := range early {
		if code := replica.Wait(t, time.Minute); code != 1 || !strings.Contains(replica.Log(), "run couponctl migrate up") {
			t.Errorf("on the former schema a replica ended with %d\n%s", code, replica.Log())
		}
	}
	if n := space.Waiting(t); n != waiting {
		t.Errorf("%d messages wait, %d before the replicas ended", n, waiting)
	}
	if out := ctl.do(t, 0, "migrate", "status"); !strings.Contains(out, "pending") {
		t.Errorf("nothing is pending on the former schema:\n%s", out)
	}
	var everybody sync.WaitGroup
	for range 3 {
		everybody.Go(func() {
			if code, out, complaint := ctl.run(t, "migrate", "up"); code != 0 {
				t.Errorf("one of several migrations ended with %d\n%s%s", code, out, complaint)
			}
		})
	}
	everybody.Wait()
	ctl.do(t, 0, "topology", "apply")
	replicas := []*fleet.Process{fleet.Launch(t, binary, space), fleet.Launch(t, binary, space), fleet.Start(t, binary, space)}
	space.WaitForSettled(t, facts[:2*third])
	ctl.do(t, 0, "doctor")

	published := fleet.PublishInBackground(t, space, after)
	fromTheFuture(t, space) // while replicas work
	for _, replica := range replicas[1:] {
		replica.Signal(t, syscall.SIGTERM)
		replica.Wait(t, time.Minute)
	}
	fleet.Start(t, binary, space)
	published.Wait(t)
	space.WaitForSettled(t, facts)
	if out := ctl.do(t, 2, "doctor"); !strings.Contains(out, "of a newer release") {
		t.Errorf("doctor does not see the newer schema:\n%s", out)
	}
	space.CheckOrders(t, orders)
	space.CheckEvents(t, sink)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

// database opens the space's database as the tool for migrations wants it.
func database(t *testing.T, space *fleet.Space) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", space.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// migrateDownTo takes migrations back.
func migrateDownTo(t *testing.T, space *fleet.Space, version int64) {
	t.Helper()
	provider, err := goose.NewProvider(goose.DialectPostgres, database(t, space), os.DirFS("../../migrations"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}

// fromTheFuture is what a migration of a newer release leaves: it only adds.
func fromTheFuture(t *testing.T, space *fleet.Space) {
	t.Helper()
	for _, statement := range []string{
		"alter table coupon_template add column of_the_future text not null default ''",
		"alter table order_fact add column of_the_future text",
		"create table of_the_future (id bigint primary key)",
		"insert into goose_db_version (version_id, is_applied) values (99999, true)",
	} {
		if _, err := database(t, space).ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
