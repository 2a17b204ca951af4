package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
)

// open gives a store on a migrated schema of its own.
func open(t testing.TB, change ...func(*Options)) *Store {
	t.Helper()
	s := openAt(t, testkit.Postgres(t), change...)
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func openAt(t testing.TB, url string, change ...func(*Options)) *Store {
	t.Helper()
	options := Options{Rules: coupon.DefaultRules(), Source: realSource(), ApplicationName: t.Name()}
	for _, f := range change {
		f(&options)
	}
	s, err := Open(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func realSource() coupon.Source {
	return coupon.Source{
		ID: func() string { return uuid.Must(uuid.NewV7()).String() },
		Token: func(string, string, string, int64) coupon.TokenHash {
			secret := make([]byte, 32)
			_, _ = rand.Read(secret) // never fails
			return coupon.HashToken(hex.EncodeToString(secret))
		},
		Code: func(string, int64) string { return coupon.Fold(rand.Text()) },
		Zone: time.LoadLocation,
	}
}

// request wraps a fact in a message of its own.
func request(id string, at time.Time, fact coupon.Fact) coupon.Request {
	return coupon.Request{ID: id, Hash: sha256.Sum256([]byte(id)), At: at, Actor: "test", Fact: fact}
}

// decideAll decides the requests in order and encodes the events as one outbox row.
func decideAll(requests []coupon.Request, outcomes *[]coupon.Outcome) func(*coupon.World) {
	return func(w *coupon.World) {
		*outcomes = (*outcomes)[:0]
		for i := range requests {
			*outcomes = append(*outcomes, coupon.Decide(w, &requests[i]))
		}
		changes := w.Seal()
		if len(changes.Events) == 0 {
			return
		}
		payload, err := json.Marshal(changes.Events)
		if err != nil {
			panic(err)
		}
		changes.Outbox = append(changes.Outbox, coupon.OutboxRow{Messages: len(changes.Events), Payload: payload})
	}
}

func apply(t testing.TB, s *Store, requests ...coupon.Request) []coupon.Outcome {
	t.Helper()
	var outcomes []coupon.Outcome
	if err := s.Apply(t.Context(), requests, decideAll(requests, &outcomes)); err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// one applies one request and compares its code.
func one(t testing.TB, s *Store, want coupon.Code, r coupon.Request) {
	t.Helper()
	if got := apply(t, s, r)[0]; got.Code != want {
		t.Fatalf("%T %s: got %s %s (%s), want %s", r.Fact, r.ID, got.Status, got.Code, got.Detail, want)
	}
}

// issue defines a template and issues coupons from it.
func issue(t testing.TB, s *Store, template coupon.Template, codes ...string) {
	t.Helper()
	requests := []coupon.Request{{Actor: "test", Fact: coupon.DefineTemplate{Template: template}}}
	for _, code := range codes {
		requests = append(requests, coupon.Request{Actor: "test", Fact: coupon.ImportCoupon{Code: code, Template: template.ID}})
	}
	apply(t, s, requests...)
}

func unlimited(id string) coupon.Template {
	return coupon.Template{ID: id, Terms: coupon.Unlimited()}
}

func placed(order string, coupons ...string) coupon.OrderPlaced {
	f := coupon.OrderPlaced{Order: order, Customer: "ann", Payable: 900, Currency: "EUR"}
	for _, c := range coupons {
		f.Wanted = append(f.Wanted, coupon.Wanted{Coupon: c, Discount: 100})
	}
	return f
}

func paid(order string) coupon.PaymentSucceeded {
	return coupon.PaymentSucceeded{Order: order, Payment: "pay-" + order, Amount: 900, Currency: "EUR"}
}

// now is the database's time.
func now(t testing.TB, s *Store) time.Time {
	t.Helper()
	at, err := s.Ping(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// scalar runs a query that gives one value.
func scalar[T any](t testing.TB, s *Store, query string, args ...any) (value T) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func execute(t testing.TB, s *Store, statement string, args ...any) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// connection is a second way to the same schema, for those who write around the engine.
func connection(t testing.TB, s *Store) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), s.pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func name(prefix string, n int) string { return fmt.Sprintf("%s-%05d", prefix, n) }
