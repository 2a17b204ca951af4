package main

import (
	"context"
	"fmt"
	"testing"
)

// book is what is written of the campaign at the end, counted by statements that share
// nothing with the product.
type book struct {
	// Total is how many coupons there may be, Counted how many the campaign says there are,
	// and Coupons how many there are.
	Total   int `json:"total"`
	Counted int `json:"counted"`
	Coupons int `json:"coupons"`
	// Persons have at least one, and Most is what the one with most has.
	Persons int `json:"persons"`
	Most    int `json:"most"`
	// Granted claims were answered with a coupon; of Lost ones there is none.
	Granted int `json:"granted"`
	Lost    int `json:"lost"`
	// Wrong counters of persons are not what the persons have.
	Wrong int `json:"wrong"`
	// Left is what Redis has to give; Total less Counted where it is not asked.
	Left int `json:"left"`
}

// ourBook counts the product's tables.
const ourBook = `with mine as (
		select owner_id, count(*) as n from user_coupon where template_id = $1 and origin = 'CLAIM' group by owner_id
	), granted as (
		select coupon_id from coupon_command where kind = 'ClaimCoupon' and status = 'APPLIED'
	), counters as (
		select person_id, claimed from claim_counter where template_id = $1
	)
	select total, issued, (select coalesce(sum(n), 0) from mine)::bigint, (select count(*) from mine),
		(select coalesce(max(n), 0) from mine)::bigint, (select count(*) from granted),
		(select count(*) from granted g where not exists (select from user_coupon c where c.coupon_id = g.coupon_id)),
		(select count(*) from mine full join counters on owner_id = person_id where n is distinct from claimed)
	from coupon_template where template_id = $1`

// seedBook counts the tables of the design that is compared with. It has no counters of
// persons in the database: the log of what happened stands for them.
const seedBook = `with mine as (
		select user_id, count(*) as n from seed_coupon group by user_id
	)
	select total_quantity, issued_quantity, (select coalesce(sum(n), 0) from mine)::bigint, (select count(*) from mine),
		(select coalesce(max(n), 0) from mine)::bigint, (select count(*) from seed_flow_log),
		(select count(*) from seed_flow_log l where not exists (select from seed_coupon c where c.coupon_no = l.coupon_no)),
		(select count(*) from seed_coupon c left join seed_flow_log l using (coupon_no) where l.coupon_no is null)
	from seed_template where template_no = $1`

func (d *database) book(ctx context.Context, query string) (b book, err error) {
	err = d.conn.QueryRow(ctx, query, hotCampaign).Scan(
		&b.Total, &b.Counted, &b.Coupons, &b.Persons, &b.Most, &b.Granted, &b.Lost, &b.Wrong)
	if err != nil {
		return b, fmt.Errorf("count the coupons of the campaign: %w", err)
	}
	b.Left = b.Total - b.Counted
	return b, nil
}

// faults lists what must never be, when so many claims should have been accepted.
func (b book) faults(accepted int) []string {
	var all []string
	never := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	never(b.Coupons > b.Total, "oversold: %d coupons of %d", b.Coupons, b.Total)
	never(b.Most > perPerson, "a person has %d coupons, and may have %d", b.Most, perPerson)
	never(b.Lost > 0, "%d granted claims have no coupon", b.Lost)
	never(b.Counted != b.Coupons, "the campaign counts %d coupons, and there are %d", b.Counted, b.Coupons)
	never(b.Wrong > 0, "%d counters of persons are wrong", b.Wrong)
	never(b.Granted != b.Coupons, "%d claims were granted, and there are %d coupons", b.Granted, b.Coupons)
	never(b.Coupons != accepted, "%d coupons instead of %d", b.Coupons, accepted)
	never(b.Left != b.Total-b.Counted, "Redis has %d left instead of %d", b.Left, b.Total-b.Counted)
	return all
}

// note judges the book; every fault of it makes the rate worthless.
func (m *Measurement) note(b book, accepted int) {
	m.Book = &b
	for _, fault := range b.faults(accepted) {
		m.fault("%s", fault)
	}
}

// claimPlants are sales around the product, which nothing but a count of the rows can see.
func claimPlants() []plant {
	return []plant{
		{"a coupon too many", `insert into user_coupon
			select (jsonb_populate_record(c, '{"coupon_id": "planted", "code": "planted", "owner_id": "nobody"}')).*
			from user_coupon c where template_id = '` + hotCampaign + `' order by coupon_id limit 1`},
		{"a second coupon for one person", `insert into user_coupon
			select (jsonb_populate_record(c, '{"coupon_id": "again", "code": "again", "claim_no": 2}')).*
			from user_coupon c where template_id = '` + hotCampaign + `' order by coupon_id desc limit 1`},
		{"a granted coupon lost", `delete from user_coupon where coupon_id =
			(select min(coupon_id) from coupon_command where kind = 'ClaimCoupon' and status = 'APPLIED')`},
	}
}

// oversell shows that the check is not blind: on what a measurement has left, it sees each
// sale around the product. The rows are of no use afterwards.
func (g *ground) oversell(t testing.TB, ctx context.Context, accepted int) (spoilt Measurement) {
	t.Helper()
	for _, p := range claimPlants() {
		changed, err := g.db.conn.Exec(ctx, p.statement)
		must(t, err, "plant "+p.name)
		b, err := g.db.book(ctx, ourBook)
		must(t, err, "count after "+p.name)
		found := len(spoilt.Faults)
		spoilt = Measurement{Rate: 1}
		spoilt.note(b, accepted)
		if spoilt.Rate != 0 || len(spoilt.Faults) <= found {
			t.Fatalf("%s was planted in %d row, and the check does not see it", p.name, changed.RowsAffected())
		}
	}
	return spoilt
}
