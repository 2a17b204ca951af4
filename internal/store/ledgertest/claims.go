package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// campaign makes the template T with terms.
func (b *bench) campaign(t testing.TB, change func(*coupon.Terms)) {
	t.Helper()
	terms := coupon.Unlimited()
	change(&terms)
	b.order(t, coupon.OK, "campaign", coupon.CreateTemplate{Template: "T", Terms: terms})
}

// template gives the row of T as it is kept.
func (b *bench) template(t testing.TB) coupon.Template {
	t.Helper()
	row, found, err := b.ledger.Template(context.Background(), "T")
	if err != nil || !found {
		t.Fatalf("template T: found %t, error %v", found, err)
	}
	return row
}

// counted checks how many coupons were issued and imported.
func (b *bench) counted(t testing.TB, issued, imported int64) {
	t.Helper()
	if row := b.template(t); row.Issued != issued || row.Imported != imported {
		t.Errorf("%d issued and %d imported, want %d and %d", row.Issued, row.Imported, issued, imported)
	}
}

func claim(person, batch string) coupon.ClaimCoupon {
	return coupon.ClaimCoupon{Template: "T", Person: person, Batch: batch}
}

// claimed runs one claim and gives the coupon of its answer.
func (b *bench) claimed(t testing.TB, want coupon.Code, key, person, batch string) string {
	t.Helper()
	return b.order(t, want, key, claim(person, batch)).Answer.Coupon
}

const crowd = 8

// rations lets a crowd claim a few coupons at the same time.
func rations(t *testing.T, b *bench) {
	const total = 3
	b.campaign(t, func(c *coupon.Terms) { c.Total = total })
	b.ask(t, coupon.Created, "", coupon.ImportCoupon{Code: "old", Template: "T"})
	codes := b.atOnce(t, crowd, func(i int) coupon.Request {
		return b.command(fmt.Sprint("k", i), claim(fmt.Sprint("u", i), ""))
	})
	if codes[coupon.OK] != total || codes[coupon.QuotaExhausted] != crowd-total {
		t.Errorf("answers: %v", codes)
	}
	b.counted(t, total, 1)
	if row := b.template(t); row.ToldSoldOut != row.Generation || row.Left() != 0 {
		t.Errorf("sold out, but the template is %+v", row)
	}
}

// personal lets one person, known by several ids, claim at the same time.
func personal(t *testing.T, b *bench) {
	const most = 2
	b.campaign(t, func(c *coupon.Terms) { c.PerPerson = most })
	if err := b.ledger.LinkPerson(context.Background(), "Phone-1", "ann@example.org", "test"); err != nil {
		t.Fatal(err)
	}
	ids := []string{"ann@example.org", "Ann@Example.ORG", " Phone-1 ", "Phone-1"}
	codes := b.atOnce(t, crowd, func(i int) coupon.Request {
		return b.command(fmt.Sprint("k", i), claim(ids[i%len(ids)], ""))
	})
	if codes[coupon.OK] != most || codes[coupon.LimitReached] != crowd-most {
		t.Errorf("answers: %v", codes)
	}
	b.claimed(t, coupon.IdentityRequired, "nobody", "", "")
	b.claimed(t, coupon.OK, "other", "phone-1", "") // another letter case is another id
	b.counted(t, most+1, 0)
	for i, want := range []coupon.Coupon{
		{Owner: "ann@example.org", ClaimNo: 1}, {Owner: "ann@example.org", ClaimNo: 2}, {Owner: "phone-1", ClaimNo: 1},
	} {
		row := b.want(t, fmt.Sprint("t-", i+1), coupon.Available, 1)
		got := coupon.Coupon{Owner: row.Owner, ClaimNo: row.ClaimNo}
		if got != want || row.Origin != coupon.OriginClaim || row.TemplateVersion != 1 {
			t.Errorf("coupon %s is %+v", row.ID, row)
		}
	}
}

// days: a day is over when it is in the zone of the campaign.
func days(t *testing.T, b *bench) {
	b.campaign(t, func(c *coupon.Terms) { c.PerDay, c.Zone = 1, "America/Noronha" }) // 2 hours behind
	b.claimed(t, coupon.OK, "k1", "u1", "")
	b.pass(2*time.Hour - time.Microsecond)
	b.claimed(t, coupon.DailyLimitReached, "k2", "u1", "")
	b.claimed(t, coupon.OK, "k3", "u2", "")
	b.pass(time.Microsecond)
	b.claimed(t, coupon.OK, "k4", "u1", "")
	b.claimed(t, coupon.DailyLimitReached, "k5", "u1", "")
	b.counted(t, 3, 0)
}

// batches lets one person claim out of one batch at the same time.
func batches(t *testing.T, b *bench) {
	b.campaign(t, func(*coupon.Terms) {})
	codes := b.atOnce(t, crowd, func(i int) coupon.Request {
		return b.command(fmt.Sprint("k", i), claim("u1", "B"))
	})
	if codes[coupon.OK] != 1 || codes[coupon.Duplicate] != crowd-1 {
		t.Errorf("answers: %v", codes)
	}
	if got := b.claimed(t, coupon.Duplicate, "again", "u1", "B"); got != "t-1" {
		t.Errorf("got %q", got)
	}
	if got := b.claimed(t, coupon.OK, "of another", "u1", "C"); got != "t-2" {
		t.Errorf("got %q", got)
	}
	b.claimed(t, coupon.OK, "of none", "u1", "")
	b.claimed(t, coupon.OK, "of none again", "u1", "")
	b.counted(t, 4, 0)
}

// wallets: a batch is issued to all who have none of it, or to nobody.
func wallets(t *testing.T, b *bench) {
	b.campaign(t, func(c *coupon.Terms) { c.Total, c.UsesPerPerson = 4, 1 })
	b.ask(t, coupon.Created, "", coupon.ImportCoupon{Code: "OLD", Template: "T", Owner: "u1"})
	batch := func(items ...coupon.IssueItem) coupon.IssueCoupons {
		return coupon.IssueCoupons{Template: "T", Batch: "B", Items: items}
	}
	to := func(person string) coupon.IssueItem { return coupon.IssueItem{Person: person} }
	until := b.now().Add(time.Hour)
	own := coupon.IssueItem{Code: "Own", Person: "u3", ValidUntil: until}
	first := batch(to("u1"), to("u2"), own, coupon.IssueItem{Code: "old"}, to("u1"))
	b.order(t, coupon.Issued(3, 2), "k1", first)
	b.order(t, coupon.Duplicate, "k1", first)
	b.order(t, coupon.QuotaExhausted, "k2", batch(to("u4"), to("u5"), to("u1")))
	b.counted(t, 3, 1)
	if got := b.claimed(t, coupon.Duplicate, "k3", "u2", "B"); got != "t-2" {
		t.Errorf("got %q", got)
	}
	b.order(t, coupon.Issued(1, 1), "k4", batch(to("u4"), to("u1")))
	b.order(t, coupon.Issued(0, 2), "k5", batch(to("u4"), own))
	b.counted(t, 4, 1)
	row := b.want(t, "own", coupon.Available, 1)
	if row.Code != "Own" || row.Origin != coupon.OriginBatch || row.ClaimNo != 1 || !row.ValidUntil.Equal(until) {
		t.Errorf("issued %+v", row)
	}
	b.order(t, coupon.OK, "k6", coupon.LockCoupon{Coupon: "t-1", Order: "A", Customer: "u1"})
	b.order(t, coupon.UseLimitReached, "k7", coupon.LockCoupon{Coupon: "old", Order: "A2", Customer: "u1"})
}

// insists lets a crowd send one claim at the same time.
func insists(t *testing.T, b *bench) {
	b.campaign(t, func(c *coupon.Terms) { c.Total = 2 })
	codes := b.atOnce(t, crowd, func(int) coupon.Request { return b.command("k", claim("u1", "")) })
	if codes[coupon.OK] != 1 || codes[coupon.Duplicate] != crowd-1 {
		t.Errorf("answers: %v", codes)
	}
	b.order(t, coupon.IdempotencyMismatch, "k", claim("u2", ""))
	b.counted(t, 1, 0)
}

// edits change what a template says, and not what was issued.
func edits(t *testing.T, b *bench) {
	b.campaign(t, func(c *coupon.Terms) {
		c.Name, c.Total, c.ValidUntil = "spring", 5, b.now().Add(240*time.Hour)
		c.Discount = coupon.Discount{Kind: coupon.AmountOff, Amount: 500, MinSpend: 2000, Currency: "EUR"}
	})
	want := coupon.Template{ID: "T", Version: 1, Terms: b.template(t).Terms, Generation: 1, UsesMost: coupon.NoLimit}
	if diff := cmp.Diff(want, b.template(t)); diff != "" {
		t.Fatalf("made (-want +got):\n%s", diff)
	}
	if want.Name != "spring" || want.Total != 5 || want.Discount.MinSpend != 2000 || want.Status != coupon.TemplateActive {
		t.Fatalf("made %+v", want)
	}
	b.order(t, coupon.Noop, "k1", coupon.CreateTemplate{Template: "T", Terms: want.Terms})
	b.order(t, coupon.TemplateExists, "k2", coupon.CreateTemplate{Template: "T", Terms: coupon.Unlimited()})
	b.claimed(t, coupon.OK, "k3", "u1", "")
	total, zone, until := int64(1), "Europe/Berlin", b.now().Add(24*time.Hour)
	edit := func(set coupon.TermsEdit) coupon.EditTemplate { return coupon.EditTemplate{Template: "T", Set: set} }
	b.order(t, coupon.OK, "k4", edit(coupon.TermsEdit{Total: &total, Zone: &zone, ValidUntil: &until}))
	b.order(t, coupon.Noop, "k5", edit(coupon.TermsEdit{Total: &total, Zone: &zone}))
	none, nowhere, budget := int64(0), "Nowhere/City", int64(5)
	b.order(t, coupon.BelowIssued, "k6", edit(coupon.TermsEdit{Total: &none}))
	b.order(t, coupon.InvalidTerms, "k7", edit(coupon.TermsEdit{Zone: &nowhere}))
	b.order(t, coupon.NotCounted, "k8", edit(coupon.TermsEdit{Budget: &budget}))
	unknown := int64(99)
	b.order(t, coupon.UnknownPolicy, "k9", edit(coupon.TermsEdit{PolicyVersion: &unknown}))
	b.claimed(t, coupon.QuotaExhausted, "k10", "u2", "")
	want.Version, want.Issued, want.Generation, want.ToldSoldOut = 2, 1, 2, 2
	want.Total, want.Zone, want.ValidUntil = total, zone, until
	if diff := cmp.Diff(want, b.template(t)); diff != "" {
		t.Errorf("edited (-want +got):\n%s", diff)
	}
	if row := b.want(t, "t-1", coupon.Available, 1); row.TemplateVersion != 1 || row.ValidUntil.Equal(until) {
		t.Errorf("the edit changed what was issued: %+v", row)
	}
}

// introduced: a limit of uses that comes with the first coupons counts them from the first
// lease on, and a return policy that an edit names is that of the coupons from then on.
func introduced(t *testing.T, b *bench) {
	rules := policy.Default()
	rules.Version = 77
	b.ask(t, coupon.Created, "", coupon.DefinePolicy{Policy: rules})
	b.campaign(t, func(*coupon.Terms) {})
	one := int64(1)
	requests := []coupon.Request{
		b.command("k1", coupon.EditTemplate{Template: "T", Set: coupon.TermsEdit{UsesPerPerson: &one, PolicyVersion: &rules.Version}}),
		b.command("k2", coupon.IssueCoupons{Template: "T", Items: []coupon.IssueItem{
			{Code: "c1", Person: "u1"}, {Code: "c2", Person: "u1"},
		}}),
		b.command("k3", coupon.LockCoupon{Coupon: "c1", Order: "A"}),
		b.command("k4", coupon.LockCoupon{Coupon: "c2", Order: "B"}),
	}
	outcomes, err := b.apply(context.Background(), requests...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []coupon.Code{coupon.OK, coupon.Issued(2, 0), coupon.OK, coupon.UseLimitReached} {
		if outcomes[i].Code != want {
			t.Errorf("%s: answered %+v, want %s", requests[i].Key, outcomes[i], want)
		}
	}
	if row := b.want(t, "c1", coupon.Locked, 2); row.PolicyVersion != rules.Version || row.TemplateVersion != 2 {
		t.Errorf("issued %+v", row)
	}
	b.order(t, coupon.UseLimitReached, "k5", coupon.LockCoupon{Coupon: "c2", Order: "B"})
}

// outdated lets many edit the version that they all have seen at the same time.
func outdated(t *testing.T, b *bench) {
	b.campaign(t, func(*coupon.Terms) {})
	codes := b.atOnce(t, crowd, func(i int) coupon.Request {
		total := int64(100 + i)
		return b.command(fmt.Sprint("k", i), coupon.EditTemplate{
			Template: "T", ExpectedVersion: 1, Set: coupon.TermsEdit{Total: &total},
		})
	})
	if codes[coupon.OK] != 1 || codes[coupon.VersionConflict] != crowd-1 {
		t.Errorf("answers: %v", codes)
	}
	if row := b.template(t); row.Version != 2 || row.Generation != 2 {
		t.Errorf("the template is %+v", row)
	}
}
