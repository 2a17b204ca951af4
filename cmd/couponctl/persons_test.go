package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// buyers is a shop with coupons of two owners, each of whom has placed an order.
func buyers(t *testing.T) shop {
	t.Helper()
	s := newShop(t, "C1")
	owned := "code,owner\nA1,Ann@x.org\nA2,customer-4711\n"
	imported(t, exitOK, owned, "--template", "t")
	for i, customer := range []string{"ann@x.org", "customer-4711"} {
		s.ask(t, coupon.Request{ID: fmt.Sprint("m", i), At: time.Now(), Fact: coupon.OrderPlaced{
			Order: fmt.Sprint("o", i), Customer: customer, Payable: 1, Currency: "EUR",
			Wanted: []coupon.Wanted{{Coupon: fmt.Sprint("a", i+1)}},
		}})
	}
	return s
}

// relayed does what the relay of a daemon does in the end.
func relayed(t *testing.T, s shop) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "delete from coupon_outbox"); err != nil {
		t.Fatal(err)
	}
}

func TestPersonsByHand(t *testing.T) {
	buyers(t)
	because := []string{"--reason", "ticket 4714", "--actor", "op"}
	ctl(t, append([]string{"persons", "link", "ANN@x.org", "customer-4711"}, because...)...).
		want(t, exitOK, "ann@x.org is customer-4711 now; 1 coupon, 1 order and 0 counters became those of customer-4711")
	ctl(t, append([]string{"persons", "link", "ann@x.org", "customer-4711"}, because...)...).
		want(t, exitOK, "nothing was done")
	ctl(t, append([]string{"persons", "link", "customer-4711", "ann@x.org"}, because...)...).
		want(t, exitConflict, "both are one person already", "link the other way round")
	ctl(t, append([]string{"persons", "link", "ann@x.org", "p-2"}, because...)...).
		want(t, exitConflict, "another id of somebody else", "persons unlink")
	shown := ctl(t, "persons", "show", "Ann@x.org")
	shown.want(t, exitOK, "person   customer-4711", "also     ann@x.org, since ", " by op", "coupons  2 LOCKED")
	person := decode[console.Person](t, ctl(t, "persons", "show", "customer-4711", "-o", "json"))
	if person.ID != "customer-4711" || len(person.Aliases) != 1 || person.Coupons[coupon.Locked] != 2 {
		t.Errorf("shown as %+v", person)
	}
	ctl(t, append([]string{"persons", "unlink", "ann@x.org"}, because...)...).
		want(t, exitOK, "ann@x.org is nobody but itself now", "stays with customer-4711")
	ctl(t, append([]string{"persons", "unlink", "ann@x.org"}, because...)...).want(t, exitConflict, "no other id")
	ctl(t, "persons", "show", "ann@x.org").want(t, exitOK, "person   ann@x.org", "coupons  -")
	ctl(t, "audit", "list", "--actor", "op").want(t, exitOK, "LinkPerson", "UnlinkPerson", "customer-4711", "ticket 4714")
	ctl(t, "check").want(t, exitOK)
}

func TestAPersonIsErased(t *testing.T) {
	s := buyers(t)
	ctl(t, "void", "C1", "--reason", "customer-4711 asked", "--actor", "op").want(t, exitOK)
	erase := []string{"persons", "erase", "customer-4711", "--reason", "request of customer-4711", "--actor", "op"}
	ctl(t, append(erase, "--dry-run")...).want(t, exitOK, "dry run, nothing was changed", "user_coupon.owner_id", "audit_log.reason")
	ctl(t, "persons", "show", "customer-4711").want(t, exitOK, "1 LOCKED")

	begun := ctl(t, append(erase, "--wait", "0s")...)
	begun.want(t, exitConflict, "2 rows of the outbox still to be published", "NOT COMPLETE")
	relayed(t, s)
	done := decode[console.PersonErased](t, ctl(t, append(erase, "--wait", "0s", "-o", "json")...))
	if !done.Found || !done.Begun || done.Waiting != 0 || done.DryRun || !strings.Contains(begun.stdout, done.Pseudonym) {
		t.Errorf("erased as %+v", done)
	}
	ctl(t, "persons", "show", "customer-4711").want(t, exitOK, "coupons  -")
	ctl(t, "persons", "show", done.Pseudonym).want(t, exitOK, "1 LOCKED")
	log := ctl(t, "audit", "list", "--actor", "op", "-o", "json")
	log.want(t, exitOK, done.Pseudonym+" asked", "request of "+done.Pseudonym, "ErasePerson")
	if strings.Contains(log.stdout, "customer-4711") {
		t.Errorf("the audit log still names the person: %s", log.stdout)
	}
	ctl(t, erase...).want(t, exitOK, "nothing here names that person")
	ctl(t, "persons", "erase", done.Pseudonym, "--reason", "again").want(t, exitConflict, "persons who were erased")
	ctl(t, "check").want(t, exitOK)
	ctl(t, "replay", "verify").want(t, exitOK)
}

func TestPersonsNeedAnIDAndAReason(t *testing.T) {
	migrated(t)
	for _, args := range [][]string{
		{"persons", "link", "a", "b"}, {"persons", "link", "a", "b", "--reason", " "}, {"persons", "link", " ", "b", "--reason", "x"},
		{"persons", "unlink", "a"}, {"persons", "erase", "a"}, {"persons", "erase", " ", "--reason", "x"},
		{"persons", "show", "a\nb"}, {"persons", "erase", "a", "--reason", "x", "--wait=-1s"},
		{"persons", "show", strings.Repeat("x", 201)},
	} {
		if o := ctl(t, args...); o.code != exitFindings {
			t.Errorf("%q ended with %d: %s%s", args, o.code, o.stdout, o.stderr)
		}
	}
}
