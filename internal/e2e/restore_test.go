package e2e

import (
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/amqp"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
)

// A database that was backed up in the middle of work and is restored to that moment goes
// on: what it had committed is published, its leases end or go on, and what it had not seen
// is applied when the senders publish it again.
func TestRestoredBackupGoesOn(t *testing.T) {
	orders := fleet.Orders(300)
	facts := fleet.Shuffle(orders, time.Now().Add(-time.Hour), 0.2, 6)
	lost := newBackedUp(t, orders)
	lost.workUntilBackup(t, facts)
	lost.workUntilLoss(t, facts)
	restored := lost.restore(t)

	ctl := lost.ctl
	ctl.space = restored
	for _, proof := range []string{"migrate up", "replay verify", "check"} {
		ctl.do(t, 0, strings.Fields(proof)...)
	}
	var report console.HealthReport
	ctl.tell(t, &report, 2, "doctor")
	for _, d := range report.Diagnoses {
		// Nobody works yet, and that is all that may be wrong.
		wrong := d.Severity == console.SeverityError || d.Severity == console.SeverityWarning
		if wrong && d.Check != "consumers" {
			t.Errorf("doctor finds %+v", d)
		}
	}
	if n := number(t, restored, "select count(*) from coupon_outbox"); n == 0 {
		t.Error("nothing waits in the outbox of the backup")
	}
	restored.CheckState(t, lost.ended, coupon.Locked)
	restored.CheckState(t, lost.held, coupon.Locked)
	restored.CheckState(t, lost.since, coupon.Available)

	fleet.Start(t, lost.binary, restored, "--sweep-interval", "1s", "--sweep-grace", "0s")
	restored.Publish(t, facts)
	restored.WaitForSettled(t, facts)
	waitForState(t, restored, lost.ended, coupon.Available)
	restored.CheckState(t, lost.held, coupon.Locked)
	ctl.with("COUPONLEASE_LEASE_TOKEN="+lost.token).do(t, 0, "release", lost.held, "--reason", "the token is still right")
	// A command that was answered since is carried out, as if it came for the first time.
	ctl.do(t, 0, "lock", lost.since, "--order", "since", "--key", "key-since")
	restored.CheckOrders(t, orders)
	restored.CheckEventsSeen(t, lost.sink)
	restored.CheckNoDeadLetters(t)
	restored.Check(t)
	ctl.do(t, 0, "replay", "verify")
	ctl.do(t, 0, "doctor")
}

// backedUp is a shop that is backed up in the middle of its work, goes on, and is lost.
type backedUp struct {
	*fleet.Space
	sink   *fleet.Sink
	binary string
	ctl    operator
	silent *fleet.Process
	// dump is the file of the backup.
	dump string
	// ended is a coupon whose lease ends between backup and loss, held one whose lease goes
	// on and has this token, since one that was leased after the backup, withdrawn one whose
	// event nobody had published by then.
	ended, held, since, withdrawn, token string
}

func newBackedUp(t *testing.T, orders []fleet.Order) *backedUp {
	t.Helper()
	space := fleet.NewSpace(t)
	b := &backedUp{
		Space: space, binary: fleet.Binary(t), ctl: newOperator(t, space), dump: filepath.Join(t.TempDir(), "dump"),
		ended: "ended", held: "held", since: "since", withdrawn: "withdrawn",
	}
	space.Import(t, append(fleet.Codes(orders), b.ended, b.held, b.since, b.withdrawn))
	b.sink = fleet.Listen(t, space)
	return b
}

// workUntilBackup has half of the facts answered, and more of them being answered during
// the backup. Events wait in its outbox, because the only replica that published them is
// gone by then.
func (b *backedUp) workUntilBackup(t *testing.T, facts []amqp.Publication) {
	t.Helper()
	relay := fleet.Start(t, b.binary, b.Space)
	b.silent = fleet.Start(t, b.binary, b.Space, "--relay", "off")
	b.Publish(t, facts[:len(facts)/2])
	b.WaitForSettled(t, facts[:len(facts)/2])
	var answer console.CommandResult
	b.ctl.tell(t, &answer, 0, "lock", b.held, "--order", "held", "--lease", "1h")
	b.token = string(answer.LeaseToken)
	b.ctl.do(t, 0, "lock", b.ended, "--order", "ended", "--lease", "8s")
	testkit.Eventually(t, time.Minute, "the timers are with the broker", func() (bool, string) {
		n := number(t, b.Space, "select count(*) from coupon_outbox")
		return n == 0, fmt.Sprint(n, " rows wait")
	})
	relay.Signal(t, syscall.SIGKILL)
	relay.Wait(t, time.Minute)
	b.ctl.do(t, 0, "void", b.withdrawn, "--reason", "its event is in no hurry")
	published := fleet.PublishInBackground(t, b.Space, facts[len(facts)/2:])
	run(t, "pg_dump", "--format=custom", "--schema="+b.schema(t), "--file="+b.dump, b.PostgresURL)
	published.Wait(t)
}

// workUntilLoss has everything answered, and then the database is never seen again.
func (b *backedUp) workUntilLoss(t *testing.T, facts []amqp.Publication) {
	t.Helper()
	b.WaitForReceipts(t, distinct(facts))
	b.ctl.do(t, 0, "lock", b.since, "--order", "since", "--key", "key-since")
	waitForState(t, b.Space, b.ended, coupon.Available)
	b.silent.Signal(t, syscall.SIGKILL)
	b.silent.Wait(t, time.Minute)
}

// restore gives the shop as it was when it was backed up, in another database, with the
// broker as it is now.
func (b *backedUp) restore(t *testing.T) *fleet.Space {
	t.Helper()
	database := testkit.EmptyDatabase(t)
	run(t, "pg_restore", "--no-owner", "--exit-on-error", "--dbname="+database, b.dump)
	run(t, "psql", "--quiet", "--command=analyze", database)
	target, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	address := parsed(t, b.PostgresURL)
	address.Path = target.Path
	restored := fleet.OnStack(t, address.String(), b.Broker)
	restored.TokenKeys = b.TokenKeys
	return restored
}

// schema is where the space is.
func (b *backedUp) schema(t *testing.T) string {
	t.Helper()
	_, schema, found := strings.Cut(parsed(t, b.PostgresURL).Query().Get("options"), "search_path=")
	if !found {
		t.Fatal("the space has no schema of its own")
	}
	return schema
}

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// run runs a program of PostgreSQL.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v; the client programs of PostgreSQL have to be installed, of its release or newer\n%s", name, err, out)
	}
}

// number is what a query gives.
func number(t *testing.T, space *fleet.Space, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), space.PostgresURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// distinct counts messages that are published again once.
func distinct(facts []amqp.Publication) int {
	ids := map[string]bool{}
	for i := range facts {
		ids[facts[i].ID] = true
	}
	return len(ids)
}
