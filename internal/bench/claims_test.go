package main

import (
	"slices"
	"strings"
	"testing"

	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/messages"
)

// tiny is a job that takes a moment.
func tiny(binary string) *job { return &job{binary: binary, messages: 300, warm: 30, seed: 1} }

// TestEveryArmOfClaimsIsRight runs each of them on a few claims, with the invariants checked.
func TestEveryArmOfClaimsIsRight(t *testing.T) {
	binary := fleet.Binary(t)
	for _, a := range claimsArms() {
		t.Run(a.name, func(t *testing.T) {
			j := tiny(binary)
			// So few claims do not drown what coupond reads when it starts.
			j.messages = map[bool]int{true: 5000, false: j.messages}[a.name == armSoldOut]
			j.control = a.name == armClaims
			m := a.measure(t, j)
			if m.Rate <= 0 || len(m.Faults) > 0 || m.Book == nil {
				t.Fatalf("%.0f a second, faults %q", m.Rate, m.Faults)
			}
			isSoldOut := a.name == armSoldOut || a.name == armSoldOutLoaded
			switch {
			case isSoldOut && (m.Book.Coupons != soldBefore || m.Writes != 0 || m.MeanBatch != 0):
				t.Errorf("claims on a campaign that is sold out: %+v", m)
			case !isSoldOut && m.Book.Coupons != m.Book.Total:
				t.Errorf("not all were accepted: %+v", m.Book)
			}
			if m.CPU[cpuRedis] != 0 && a.name == armClaimsDatabase {
				t.Error("Redis was asked")
			}
		})
	}
}

// TestASaleAroundTheProductSetsTheRateToZero plants what must not be on what a run has left.
func TestASaleAroundTheProductSetsTheRateToZero(t *testing.T) {
	c := claiming{redis: true}
	j := tiny(fleet.Binary(t))
	g := c.prepare(t, t.Context(), j)
	m := c.run(t, t.Context(), j, g)
	if g.judge(t, t.Context(), &m); m.Rate <= 0 || len(m.Faults) > 0 {
		t.Fatalf("before: %.0f a second, faults %q", m.Rate, m.Faults)
	}
	spoilt := g.oversell(t, t.Context(), g.accepted)
	faults := strings.Join(spoilt.Faults, "; ")
	for _, want := range []string{"oversold: 331 coupons of 330", "a person has 2 coupons", "1 granted claims have no coupon"} {
		if !strings.Contains(faults, want) {
			t.Errorf("%q is not found in %s", want, faults)
		}
	}
	if g.judge(t, t.Context(), &m); m.Rate != 0 {
		t.Errorf("%.0f a second with all of it in the books", m.Rate)
	}
}

// TestTheOtherDesignIsHeldToTheSame: its tables are counted as ours are.
func TestTheOtherDesignIsHeldToTheSame(t *testing.T) {
	g := prepare(t, t.Context(), traffic{})
	execute := func(statement string) {
		t.Helper()
		_, err := g.db.conn.Exec(t.Context(), statement)
		must(t, err, statement)
	}
	execute(seedSchema)
	execute(`insert into seed_template values (1, '` + hotCampaign + `', 2, 2)`)
	for _, id := range []string{"a", "b"} {
		execute(`insert into seed_coupon (coupon_no, template_id, user_id, batch_no, received_time, expire_time)
			values ('` + id + `', 1, '` + id + `', '', now(), now())`)
		execute(`insert into seed_flow_log (coupon_no, action_type) values ('` + id + `', 1)`)
	}
	judged := func() string {
		t.Helper()
		b, err := g.db.book(t.Context(), seedBook)
		must(t, err, "count")
		m := Measurement{Rate: 1}
		m.note(b, 2)
		if (m.Rate == 0) != (len(m.Faults) > 0) {
			t.Errorf("rate %v with faults %q", m.Rate, m.Faults)
		}
		return strings.Join(m.Faults, "; ")
	}
	if faults := judged(); faults != "" {
		t.Fatalf("nothing is wrong, and yet: %s", faults)
	}
	for _, plant := range []struct{ statement, want string }{
		{`insert into seed_coupon (coupon_no, template_id, user_id, batch_no, received_time, expire_time)
			values ('c', 1, 'a', 'another', now(), now())`, "oversold: 3 coupons of 2"},
		{`delete from seed_coupon where coupon_no = 'b'`, "1 granted claims have no coupon"},
		{`update seed_template set issued_quantity = 1`, "the campaign counts 1 coupons, and there are 2"},
	} {
		execute(plant.statement)
		if faults := judged(); !strings.Contains(faults, plant.want) {
			t.Errorf("%q is not found in %q", plant.want, faults)
		}
	}
}

func TestFaultsOfABook(t *testing.T) {
	right := book{Total: 10, Counted: 7, Coupons: 7, Persons: 7, Most: 1, Granted: 7, Left: 3}
	if faults := right.faults(7); len(faults) > 0 {
		t.Errorf("nothing is wrong, and yet: %q", faults)
	}
	for _, test := range []struct {
		change func(*book)
		want   string
	}{
		{func(b *book) { b.Total = 6 }, "oversold"},
		{func(b *book) { b.Most = 2 }, "a person has 2 coupons"},
		{func(b *book) { b.Lost = 1 }, "1 granted claims have no coupon"},
		{func(b *book) { b.Counted = 6 }, "the campaign counts 6 coupons"},
		{func(b *book) { b.Wrong = 1 }, "1 counters of persons"},
		{func(b *book) { b.Granted = 8 }, "8 claims were granted"},
		{func(b *book) { b.Coupons = 6 }, "6 coupons instead of 7"},
		{func(b *book) { b.Left = 4 }, "Redis has 4 left instead of 3"},
	} {
		b := right
		test.change(&b)
		if faults := strings.Join(b.faults(7), "; "); !strings.Contains(faults, test.want) {
			t.Errorf("%q is not found in %q", test.want, faults)
		}
	}
}

func TestClaimsAreEachOfAnotherPerson(t *testing.T) {
	const n = 50
	all, err := requests(claimMessages("x", n))
	if err != nil {
		t.Fatal(err)
	}
	keys, persons := map[string]bool{}, map[string]bool{}
	for _, r := range all {
		f := r.Fact.(coupon.ClaimCoupon)
		keys[r.Key], persons[f.Person] = true, true
		if f.Template != hotCampaign {
			t.Errorf("%s claims %s", r.Key, f.Template)
		}
	}
	if len(keys) != n || len(persons) != n {
		t.Errorf("%d keys of %d persons, want %d", len(keys), len(persons), n)
	}
	work := traffic{messages: claimMessages("x", 1)}
	contract, _ := messages.ContractOf(messages.TypeClaimCoupon)
	if queues := work.queues(); !slices.Equal(queues, []string{contract.Queue}) {
		t.Errorf("they go to %q", queues)
	}
}

func TestTheReportTellsOfClaims(t *testing.T) {
	r := Report{Rounds: 1, Claims: true, Measurements: []Measurement{
		{Arm: armClaims, Round: 1, Rate: 5000, Book: &book{Total: 77, Coupons: 76, Persons: 75, Most: 3}, Reads: 4.25},
		{Arm: armClaimsStock1, Round: 1, Rate: 200},
		{Arm: armClaimsStock16, Round: 1, Rate: 800},
		{Arm: armSoldOut, Round: 1, Rate: 15000, Reads: 0.0003},
	}}
	r.summarise(claimsArms())
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"claims of one campaign", "claims / 4000 a second", "1.25", "claims / 2000 a second", "2.50", "claims / stock-1", "25.00",
		"claims / stock-16", "6.25", "sold-out / claims", "3.00", "4.2500", "0.0003", "76", "75",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in the report:\n%s", part, out.String())
		}
	}
	if strings.Contains(out.String(), "composed") {
		t.Errorf("the report speaks of arms that it has not got:\n%s", out.String())
	}
	for _, o := range []options{{claims: true, hot: true}, {claims: true, mix: true}, {claims: true, soak: 1}} {
		if err := run(o, nil); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
