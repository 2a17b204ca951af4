package console

import (
	"context"
	"crypto/sha256"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// world is a migrated database under a clock that the test sets.
type world struct {
	*Database
	t       testing.TB
	address string
	now     time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, address: testkit.Postgres(t), now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	opened, err := store.Open(t.Context(), w.address, store.Options{
		Rules: coupon.DefaultRules(), Source: simulate.NewSource("w."), Now: func() time.Time { return w.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	if err := opened.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Database = &Database{store: opened, logger: slog.New(slog.DiscardHandler)}
	w.ask("", coupon.DefineTemplate{Template: coupon.Template{
		ID: "spring",
		Terms: coupon.Terms{
			Budget: 1000, UsesPerPerson: 10, PolicyVersion: 1,
		},
	}})
	return w
}

// ask has one request answered, a second later than the one before. Its message,
// if it has an id, happened when the request is asked.
func (w *world) ask(id string, fact coupon.Fact) coupon.Outcome {
	w.t.Helper()
	return w.askOf(id, w.now.Add(time.Second), fact)
}

// askOf is ask for a message that happened at another time.
func (w *world) askOf(id string, at time.Time, fact coupon.Fact) coupon.Outcome {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	request := coupon.Request{ID: id, Hash: sha256.Sum256([]byte(id)), At: at, Actor: "shop", Fact: fact}
	var outcome coupon.Outcome
	err := w.store.Apply(w.t.Context(), []coupon.Request{request}, func(world *coupon.World) {
		outcome = coupon.Decide(world, &request)
		world.Seal()
	})
	if err != nil {
		w.t.Fatalf("%s %T: %v", id, fact, err)
	}
	return outcome
}

// issue makes a code a coupon of buyer u1.
func (w *world) issue(code string) {
	w.t.Helper()
	w.ask("", coupon.ImportCoupon{Code: code, Template: "spring", Owner: "u1", Batch: "b1"})
}

// sql changes the database behind the engine's back.
func (w *world) sql(statements ...string) {
	w.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			w.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// services name the database of the world.
func (w *world) services() config.Services { return config.Services{PostgresURL: w.address} }

// golden compares text with a file of testdata, or writes the file.
func golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func placed(order, code string) coupon.OrderPlaced {
	return coupon.OrderPlaced{
		Order: order, Customer: "u1", Payable: 2500, Currency: "EUR",
		Wanted: []coupon.Wanted{{Coupon: coupon.Fold(code)}},
	}
}

func paid(order string) coupon.PaymentSucceeded {
	return coupon.PaymentSucceeded{Order: order, Payment: "pay-" + order, Amount: 2500, Currency: "EUR"}
}

// incident plays the incident: A's payment is late, A is closed, B has the coupon.
func (w *world) incident(code string) {
	w.t.Helper()
	w.issue(code)
	w.ask("a-placed", placed("A", code))
	paidA := w.now.Add(500 * time.Millisecond)
	w.ask("a-closed", coupon.OrderClosed{Order: "A", Reason: "timeout"})
	w.ask("b-placed", placed("B", code))
	w.askOf("a-paid", paidA, paid("A"))
	w.ask("b-paid", paid("B"))
	w.askOf("a-paid-again", paidA, paid("A"))
	w.ask("b-refunded", coupon.RefundApproved{
		Order: "B", Refund: "refund-B", Amount: 1000, Currency: "EUR", Reason: "customer",
	})
}
