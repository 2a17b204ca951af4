package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// campaign is a template of which so many coupons may be claimed.
func campaign(id string, total int64) coupon.Template {
	template := unlimited(id)
	template.Total = total
	return template
}

// wrongTemplates compares all counters of templates and persons with the coupons.
func wrongTemplates(t *testing.T, s *Store) {
	t.Helper()
	dump, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rules := map[int64]policy.Policy{}
	for _, p := range dump.Policies {
		rules[p.Version] = p
	}
	usage := map[string]*coupon.Usage{}
	for _, template := range dump.Templates {
		usage[template.ID] = &coupon.Usage{}
	}
	for i := range dump.Histories {
		template := dump.Histories[i].Coupon.Template
		usage[template].Add(dump.Histories[i], func(version int64) policy.Policy { return rules[version] })
	}
	for _, template := range dump.Templates {
		var uses []*coupon.Uses
		for i := range dump.Uses {
			if dump.Uses[i].Template == template.ID {
				uses = append(uses, &dump.Uses[i])
			}
		}
		var claims []*coupon.Claims
		for i := range dump.Claims {
			if dump.Claims[i].Template == template.ID {
				claims = append(claims, &dump.Claims[i])
			}
		}
		for _, violation := range coupon.CheckTemplate(template, uses, claims, *usage[template.ID]) {
			t.Error(violation)
		}
	}
}

// TestWritersNeverOversell lets writers claim in batches out of two campaigns, each pair of
// writers in another order, far more than there is: every coupon is issued, and none twice.
func TestWritersNeverOversell(t *testing.T) {
	const writers, batches, size, total = 6, 20, 16, 500
	s := open(t)
	issue(t, s, campaign("one", total))
	issue(t, s, campaign("two", total))
	at := now(t, s)
	const deadlocks = `select deadlocks from pg_stat_database where datname = current_database()`
	before := scalar[int64](t, s, deadlocks)
	var group sync.WaitGroup
	var mutex sync.Mutex
	codes := map[coupon.Code]int{}
	for w := range writers {
		group.Go(func() {
			for b := range batches {
				var requests []coupon.Request
				for i := range size {
					first := i < size/2
					template := map[bool]string{true: "one", false: "two"}[first == (w%2 == 0)]
					n := (b*size + i) / 2
					requests = append(requests, command(fmt.Sprintf("%d-%d-%d", w, b, i), at,
						coupon.ClaimCoupon{Template: template, Person: fmt.Sprint("person", n%97)}))
				}
				var outcomes []coupon.Outcome
				if err := s.Apply(t.Context(), requests, decideAll(requests, &outcomes)); err != nil {
					t.Errorf("%s: %v", Classify(err), err)
					return
				}
				mutex.Lock()
				for _, outcome := range outcomes {
					codes[outcome.Code]++
				}
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	if codes[coupon.OK] != 2*total || codes[coupon.QuotaExhausted] != writers*batches*size-2*total {
		t.Errorf("answers: %v", codes)
	}
	for _, id := range []string{"one", "two"} {
		template, _, err := s.Template(t.Context(), id)
		if err != nil || template.Issued != total || template.ToldSoldOut != 1 {
			t.Errorf("%+v: %v", template, err)
		}
	}
	if coupons := scalar[int](t, s, `select count(*) from user_coupon where origin = 'CLAIM'`); coupons != 2*total {
		t.Errorf("%d coupons", coupons)
	}
	execute(t, s, `select pg_stat_force_next_flush()`)
	if after := scalar[int64](t, s, deadlocks); after != before {
		t.Errorf("%d deadlocks", after-before)
	}
	wrongCounters(t, s)
	wrongTemplates(t, s)
}

// TestTheDatabaseHasTheLastWordOnClaims: what no engine may write, nobody can.
func TestTheDatabaseHasTheLastWordOnClaims(t *testing.T) {
	s := open(t)
	issue(t, s, campaign("scarce", 1))
	one(t, s, coupon.OK, command("k1", now(t, s), coupon.ClaimCoupon{Template: "scarce", Person: "ann"}))
	const again = `insert into user_coupon select (jsonb_populate_record(c, '{"coupon_id": "again"}')).* from user_coupon c`
	for name, test := range map[string]struct{ statement, constraint string }{
		"more than the total": {`update coupon_template set issued = 2`, "never_more_than_total"},
		"a lower total":       {`update coupon_template set total = 0`, "never_more_than_total"},
		"a claim twice":       {again, "user_coupon_claim"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.pool.Exec(t.Context(), test.statement)
			var server *pgconn.PgError
			if !errors.As(err, &server) || server.ConstraintName != test.constraint {
				t.Errorf("got %v, want %s to refuse it", err, test.constraint)
			}
		})
	}
}

// TestClaimsAroundTheEngineAreLoud: counters that somebody set back do not give a person, or
// a campaign, another coupon, and the one request fails for good.
func TestClaimsAroundTheEngineAreLoud(t *testing.T) {
	s := open(t)
	issue(t, s, campaign("open", coupon.NoLimit))
	at := now(t, s)
	one(t, s, coupon.OK, command("k1", at, coupon.ClaimCoupon{Template: "open", Person: "ann"}))
	execute(t, s, `update claim_counter set claimed = 0`)
	err := refused(t, s, batcher.Poison, command("k2", at, coupon.ClaimCoupon{Template: "open", Person: "ann"}))
	if !strings.Contains(err.Error(), "user_coupon_claim") {
		t.Errorf("got %v", err)
	}
	one(t, s, coupon.OK, command("k3", at, coupon.ClaimCoupon{Template: "open", Person: "bob"}))
}

// TestCompareAndSetOfTemplates decides on a template that is not what the row says: version,
// issued and held are compared, and the constraint has the last word on the total.
func TestCompareAndSetOfTemplates(t *testing.T) {
	s := open(t)
	limited := campaign("scarce", 2)
	limited.Budget = 5
	issue(t, s, limited)
	at := now(t, s)
	one(t, s, coupon.OK, command("k1", at, coupon.ClaimCoupon{Template: "scarce", Person: "ann"}))
	row, _, err := s.Template(t.Context(), "scarce")
	if err != nil {
		t.Fatal(err)
	}
	r := command("k2", at, coupon.ClaimCoupon{Template: "scarce", Person: "bob"})
	for name, mistake := range map[string]struct {
		make func(*coupon.Template)
		want batcher.Class
		text string
	}{
		"version": {func(t *coupon.Template) { t.Version++ }, batcher.Fatal, "update of coupon_template"},
		"issued":  {func(t *coupon.Template) { t.Issued-- }, batcher.Fatal, "update of coupon_template"},
		"held":    {func(t *coupon.Template) { t.Held++ }, batcher.Fatal, "update of coupon_template"},
	} {
		t.Run(name, func(t *testing.T) {
			mistaken := row
			mistake.make(&mistaken)
			err := s.Apply(t.Context(), []coupon.Request{r}, func(w *coupon.World) {
				w.AddTemplate(&mistaken)
				decideAll([]coupon.Request{r}, new([]coupon.Outcome))(w)
			})
			if Classify(err) != mistake.want || !strings.Contains(err.Error(), mistake.text) {
				t.Errorf("got %s: %v", Classify(err), err)
			}
		})
	}
	t.Run("more than the total", func(t *testing.T) {
		err := s.Apply(t.Context(), []coupon.Request{r}, func(w *coupon.World) {
			decideAll([]coupon.Request{r}, new([]coupon.Outcome))(w)
			w.Changes().Templates[0].Row.Issued = row.Total + 1
		})
		if Classify(err) != batcher.Poison || !strings.Contains(err.Error(), "never_more_than_total") {
			t.Errorf("got %s: %v", Classify(err), err)
		}
	})
	after, _, err := s.Template(t.Context(), "scarce")
	if err != nil || after.Issued != row.Issued {
		t.Errorf("%+v: %v", after, err)
	}
	one(t, s, coupon.OK, r)
}

// TestTermsAreKeptVersionByVersion, with who changed them and by which message.
func TestTermsAreKeptVersionByVersion(t *testing.T) {
	s := open(t)
	first := coupon.Unlimited()
	first.PolicyVersion = policy.DefaultVersion
	first.Discount = coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 2000, MinSpend: 5000, Currency: "EUR"}
	first.ValidUntil = now(t, s).Add(time.Hour).Truncate(time.Second)
	create := command("k1", now(t, s), coupon.CreateTemplate{Template: "t", Terms: first})
	one(t, s, coupon.OK, create)
	total, name := int64(7), "spring"
	edit := command("k2", now(t, s), coupon.EditTemplate{Template: "t", Set: coupon.TermsEdit{Total: &total, Name: &name}})
	one(t, s, coupon.OK, edit)
	one(t, s, coupon.OK, command("k3", now(t, s), coupon.ClaimCoupon{Template: "t", Person: "ann"}))
	versions, err := s.TemplateVersions(t.Context(), "t")
	if err != nil || len(versions) != 2 {
		t.Fatalf("%d versions: %v", len(versions), err)
	}
	second := first
	second.Total, second.Name = total, name
	want := []coupon.TemplateVersion{
		{Template: "t", Version: 1, Terms: first, Actor: "test", Cause: create.ID, At: versions[0].At},
		{Template: "t", Version: 2, Terms: second, Actor: "test", Cause: edit.ID, At: versions[1].At},
	}
	if diff := cmp.Diff(want, versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if _, err := s.pool.Exec(t.Context(), `update coupon_template_version set actor = 'nobody'`); err == nil {
		t.Error("what a template said was changed")
	}
}

// TestDriftOfClaimsIsFound: reconciliation reads out of the coupons what the counters of
// claims have to be.
func TestDriftOfClaimsIsFound(t *testing.T) {
	s := open(t)
	issue(t, s, campaign("open", 9), "OLD")
	at := now(t, s)
	for i, fact := range []coupon.Command{
		coupon.ClaimCoupon{Template: "open", Person: "ann"},
		coupon.ClaimCoupon{Template: "open", Person: "ann", Batch: "B"},
		coupon.ClaimCoupon{Template: "open"},
		coupon.IssueCoupons{Template: "open", Batch: "B", Items: []coupon.IssueItem{{Person: "bob"}, {Code: "coded"}}},
	} {
		apply(t, s, command(fmt.Sprint("k", i), at, fact))
	}
	if _, found := reconciled(t, s); len(found) != 0 {
		t.Fatalf("found %v", found)
	}
	for name, plant := range map[string][2]string{
		"a claim too many": {`update claim_counter set claimed = claimed + 1`, `update claim_counter set claimed = claimed - 1`},
		"a lost counter":   {`update claim_counter set claimed = 0`, `update claim_counter set claimed = 2`},
		"somebody else's": {
			`insert into claim_counter (template_id, person_id, held, claimed) values ('open', 'bob', 0, 1)`,
			`delete from claim_counter where person_id = 'bob'`,
		},
		"issued":   {`update coupon_template set issued = issued + 1`, `update coupon_template set issued = issued - 1`},
		"imported": {`update coupon_template set imported = 0`, `update coupon_template set imported = 1`},
	} {
		t.Run(name, func(t *testing.T) {
			execute(t, s, plant[0])
			if _, found := reconciled(t, s); !slices.Equal(found, []string{"DRIFT open"}) {
				t.Errorf("found %v", found)
			}
			execute(t, s, plant[1])
		})
	}
	if _, found := reconciled(t, s); len(found) != 0 {
		t.Errorf("found %v after all was put right", found)
	}
}

// TestClaimsGoOnBehindTheNumbersThatThereAre: a counter that was wrong has left a gap, and
// is behind the numbers once it is right.
func TestClaimsGoOnBehindTheNumbersThatThereAre(t *testing.T) {
	s := campaigns(t)
	at := now(t, s)
	claim := func(key, batch string) { one(t, s, coupon.OK, claimed(key, "ann", batch, at)) }
	for _, key := range []string{"1", "2", "3"} {
		claim(key, "")
	}
	execute(t, s, `update claim_counter set claimed = 7 where person_id = 'ann'`)
	claim("4", "")
	one(t, s, coupon.Recounted, command("recount", at, coupon.RecountTemplate{Template: "camp"}))
	if n := scalar[int64](t, s, `select claimed from claim_counter`); n != 4 {
		t.Fatalf("%d are counted, want 4", n)
	}
	claim("5", "")
	apply(t, s, claimed("6", "ann", "", at), claimed("7", "ann", "batch", at), claimed("8", "ann", "", at))
	numbers := scalar[string](t, s, `select string_agg(claim_no::text, ' ' order by claim_no) from user_coupon where batch_id = ''`)
	if numbers != "1 2 3 8 9 10 11" {
		t.Errorf("the claims have the numbers %s", numbers)
	}
}
