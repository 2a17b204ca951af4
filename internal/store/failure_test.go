package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
)

// refused applies one request that must not be written, and checks how its error is
// classified and that nothing is left of it.
func refused(t *testing.T, s *Store, want batcher.Class, r coupon.Request) error {
	t.Helper()
	before, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []coupon.Outcome
	failure := s.Apply(t.Context(), []coupon.Request{r}, decideAll([]coupon.Request{r}, &outcomes))
	if got := Classify(failure); got != want {
		t.Fatalf("got %s, want %s: %v", got, want, failure)
	}
	after, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Receipts) != len(before.Receipts) || len(after.Orders) != len(before.Orders) {
		t.Error("something was written all the same")
	}
	return failure
}

func TestWritingAroundTheEngineIsFatal(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1")
	// A row that is locked can only be missed if something in the database itself
	// interferes.
	execute(t, s, `create function interfere() returns trigger language plpgsql as 'begin return null; end'`)
	issue(t, s, campaign("open", coupon.NoLimit))
	for table, r := range map[string]coupon.Request{
		"user_coupon":     request("m1", now(t, s), placed("o1", "c1")),
		"order_fact":      request("m2", now(t, s), paid("o2")),
		"coupon_template": command("k3", now(t, s), coupon.ClaimCoupon{Template: "open", Person: "ann"}),
	} {
		t.Run(table, func(t *testing.T) {
			execute(t, s, "create trigger interfere before update on "+table+" for each row execute function interfere()")
			err := refused(t, s, batcher.Fatal, r)
			if !strings.Contains(err.Error(), table) {
				t.Errorf("the error does not name the table: %v", err)
			}
			execute(t, s, "drop trigger interfere on "+table)
			apply(t, s, r)
		})
	}
}

// TestCompareAndSet decides on another version than the row has.
func TestCompareAndSet(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1", "C2")
	r := request("m1", now(t, s), placed("o1", "c1", "c2"))
	err := s.Apply(t.Context(), []coupon.Request{r}, func(w *coupon.World) {
		other := w.Coupon("c2").Clone()
		other.Version = 7
		w.AddCoupon(other)
		var outcomes []coupon.Outcome
		decideAll([]coupon.Request{r}, &outcomes)(w)
	})
	if got := Classify(err); got != batcher.Fatal {
		t.Errorf("got %s, want %s: %v", got, batcher.Fatal, err)
	}
	if versions := scalar[int64](t, s, `select sum(version)::bigint from user_coupon`); versions != 2 {
		t.Error("something was written all the same")
	}
}

func TestDecidingOnRowsThatWereNotLockedIsFatal(t *testing.T) {
	s := open(t)
	limited := unlimited("scarce")
	limited.Budget = 1
	issue(t, s, limited, "C1")
	asked, answered := request("m1", now(t, s), paid("o1")), request("m2", now(t, s), paid("o2"))
	err := s.Apply(t.Context(), []coupon.Request{asked}, func(w *coupon.World) {
		coupon.Decide(w, &answered)
		w.Seal()
	})
	if !errors.Is(err, ErrUnlocked) || Classify(err) != batcher.Fatal {
		t.Errorf("got %v", err)
	}
}

func TestTheLedgerIsAppendOnly(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1")
	for _, statement := range []string{
		`update coupon_operation set reason = 'nicer'`, `delete from coupon_operation`, `truncate coupon_operation`,
		`update return_policy set document = '{}'`, `delete from audit_log`,
		`update coupon_command set code = 'OK'`, `delete from coupon_command`, `truncate coupon_command`,
		`update redeem_flow set step = 'SUCCESS'`, `delete from redeem_flow`, `truncate redeem_flow`,
	} {
		if _, err := s.pool.Exec(t.Context(), statement); Classify(err) != batcher.Fatal {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestBadDataIsPoison(t *testing.T) {
	s := open(t)
	at := now(t, s)
	random := make([]byte, 0, 20_000) // does not compress into an index entry
	for i := range uint32(20_000) {
		random = append(random, byte('a'+(i*i*2654435761>>13)%26))
	}
	for name, r := range map[string]coupon.Request{
		"a zero byte":       request("m1", at, paid("o\x001")),
		"not UTF-8":         request("m2", at, paid("o\xff1")),
		"an endless id":     request("m3", at, paid(string(random))),
		"a zero byte below": request("m4", at, coupon.PaymentSucceeded{Order: "o4", Payment: "p\x00", Amount: 1}),
	} {
		t.Run(name, func(t *testing.T) { refused(t, s, batcher.Poison, r) })
	}
	apply(t, s, request("m5", at, paid("o5")))
}

func TestWaitsEnd(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"for a lock":      func(o *Options) { o.LockTimeout = 100 * time.Millisecond },
		"for a statement": func(o *Options) { o.StatementTimeout = 100 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			issue(t, s, unlimited("summer"), "C1")
			conn := connection(t, s)
			for _, statement := range []string{"begin", "select from user_coupon for update"} {
				if _, err := conn.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			hasty := openAt(t, s.pool.Config().ConnString(), change)
			r := request("m1", now(t, s), placed("o1", "c1"))
			refused(t, hasty, batcher.Transient, r)
			if _, err := conn.Exec(t.Context(), "rollback"); err != nil {
				t.Fatal(err)
			}
			one(t, hasty, coupon.OK, r)
		})
	}
}

func TestPanicGivesTheConnectionBack(t *testing.T) {
	s := open(t, func(o *Options) { o.MaxConns = 1 })
	r := request("m1", now(t, s), paid("o1"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.Apply(t.Context(), []coupon.Request{r}, func(*coupon.World) { panic("a mistake of the core") })
	}()
	one(t, s, coupon.Parked, r)
}

func TestNothingToWriteIsRolledBack(t *testing.T) {
	s := open(t)
	r := request("m1", now(t, s), paid("o1"))
	if err := s.Apply(t.Context(), []coupon.Request{r}, func(w *coupon.World) { w.Seal() }); err != nil {
		t.Fatal(err)
	}
	if rows := scalar[int](t, s, `select count(*) from order_fact`); rows != 0 {
		t.Errorf("%d orders were admitted for nothing", rows)
	}
}

func TestServerGoneBeforeTheCommit(t *testing.T) {
	s := open(t)
	r := request("m1", now(t, s), paid("o1"))
	killer := connection(t, s)
	var outcomes []coupon.Outcome
	err := s.Apply(t.Context(), []coupon.Request{r}, func(w *coupon.World) {
		decideAll([]coupon.Request{r}, &outcomes)(w)
		_, err := killer.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where application_name = $1 and state = 'idle in transaction'`, s.options.ApplicationName)
		if err != nil {
			t.Error(err)
		}
	})
	if got := Classify(err); got != batcher.Ambiguous {
		t.Fatalf("got %s, want %s: %v", got, batcher.Ambiguous, err)
	}
	one(t, s, coupon.Parked, r)
}
