package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

// readOrders is the first round trip: it begins the transaction, locks the orders and
// reads what is known about them. Whatever hangs on an order is read by statements of
// its own after the lock, each with a fresh snapshot: a joined row would be as old as
// the lock request.
func (tx *transaction) readOrders(ctx context.Context) error {
	var now time.Time
	t := &trip{}
	if !tx.begun {
		t.exec("begin", beginSQL)
	}
	tx.replan(t)
	t.query("read the clock", settingsSQL, func(rows pgx.Rows) error {
		return rows.Scan(&now, nil, nil, nil, nil)
	})
	if len(tx.asked.persons) > 0 {
		t.exec("keep who is who", personsSharedSQL)
	}
	if len(tx.asked.admitted) > 0 {
		t.exec("admit orders", admitOrdersSQL, texts(tx.asked.admitted))
	}
	if len(tx.asked.orders) > 0 {
		orders := texts(tx.asked.orders)
		t.query("lock orders", lockOrdersSQL, tx.scanOrder, orders)
		t.query("read the coupons of orders", readNamedSQL, tx.scanNamed, orders)
		t.query("read refunds", readRefundsSQL, tx.scanRefund, orders)
		t.query("read refund decisions", readDecidedSQL, tx.scanDecided, orders)
	}
	if len(tx.asked.persons) > 0 {
		t.query("read aliases", readAliasesSQL, tx.scanAlias, texts(tx.asked.persons))
	}
	t.query("read templates", readTemplatesSQL, tx.scanTemplate(false),
		texts(tx.asked.templates), texts(tx.asked.coupons), texts(tx.asked.orders))
	if err := t.send(ctx, tx.store, tx.conn); err != nil {
		return err
	}
	now = tx.store.clock(now)
	tx.window = tx.store.windowAt(now)
	tx.world = coupon.NewWorld(now, tx.store.options.Rules, tx.store.options.Source)
	for _, order := range tx.orders {
		tx.world.AddOrder(order)
	}
	for alias, person := range tx.aliases {
		tx.world.AddAlias(alias, person)
	}
	return nil
}

// readCoupons is the second round trip: it locks the templates whose counters may
// change, the counters per person and the coupons, and reads the inbox, the answers to
// commands and the clock once everything is locked.
func (tx *transaction) readCoupons(ctx context.Context) error {
	coupons := texts(distinct(append(tx.world.NamedCoupons(), tx.asked.coupons...)))
	limited, perPerson := tx.limited()
	var now time.Time
	t := &trip{}
	if len(limited) > 0 {
		t.query("lock templates", lockTemplatesSQL, tx.scanTemplate(true), limited)
	}
	tx.readClaims(t)
	if perPerson || len(tx.miscounted) > 0 {
		templates, persons := tx.newUses()
		t.exec("admit uses", admitUsesSQL, coupons, templates, persons)
		t.query("lock uses", lockUsesSQL, tx.scanUses, coupons, templates, persons)
	}
	if len(coupons) > 0 {
		t.query("lock coupons", lockCouponsSQL, tx.scanCoupon, coupons)
	}
	if days, ids := tx.window.probes(tx.asked.messages); len(ids) > 0 {
		t.query("read the inbox", readReceiptsSQL, tx.scanReceipt, days, ids)
	}
	tx.readCommands(t)
	t.query("read the clock", clockSQL, func(rows pgx.Rows) error { return rows.Scan(&now) })
	if err := t.send(ctx, tx.store, tx.conn); err != nil {
		return err
	}
	tx.world.Now = tx.store.clock(now).UTC()
	for _, l := range tx.templates {
		tx.world.AddTemplate(l.template)
	}
	for _, c := range tx.coupons {
		tx.world.AddCoupon(c)
	}
	tx.addMiscounts()
	return nil
}

// complete says whether every coupon came with its template and the counter of its
// owner. One that was created between the two round trips did not.
func (tx *transaction) complete() error {
	for _, c := range tx.coupons {
		l := tx.templates[c.Template]
		if l == nil {
			return fmt.Errorf("template %q of coupon %s: %w", c.Template, c.ID, errAppeared)
		}
		perPerson := l.template.UsesPerPerson != coupon.NoLimit && c.Owner != ""
		if perPerson && !tx.uses[usesKey{c.Template, c.Owner}] {
			return fmt.Errorf("uses by the owner of coupon %s: %w", c.ID, errAppeared)
		}
	}
	return nil
}

// limited lists, sorted, the templates whose row has to be locked: uses of them are
// counted, or a request issues from them. It also says whether any counts per person.
func (tx *transaction) limited() (ids texts, perPerson bool) {
	perPerson = len(tx.asked.perPerson) > 0
	for id, l := range tx.templates {
		if l.template.Limited() {
			ids = append(ids, id)
		}
		perPerson = perPerson || l.template.UsesPerPerson != coupon.NoLimit
	}
	return distinct(append(ids, tx.asked.templates...)), perPerson
}

// newUses lists the counters for coupons that the batch is about to create.
func (tx *transaction) newUses() (templates, persons texts) {
	templates, persons = texts{}, texts{}
	for _, use := range tx.miscounted {
		if use.Counter == CounterUses {
			templates, persons = append(templates, use.Template), append(persons, use.Person)
		}
	}
	wanted := tx.asked.uses
	for _, g := range tx.asked.goodwill {
		if o := tx.orders[g.order]; o != nil && o.Customer != "" {
			wanted = append(wanted, usesKey{g.template, o.Customer})
		}
	}
	for _, key := range wanted {
		key.person = tx.person(key.person)
		l := tx.templates[key.template]
		counted := l != nil && l.template.UsesPerPerson != coupon.NoLimit ||
			slices.Contains(tx.asked.perPerson, key.template)
		if counted && key.person != "" {
			templates = append(templates, key.template)
			persons = append(persons, key.person)
		}
	}
	return templates, persons
}

// person gives the one person that an id stands for.
func (tx *transaction) person(id string) string {
	id = coupon.FoldPerson(id)
	return cmp.Or(tx.aliases[id], id)
}

// readClaims adds what the persons who ask for coupons have got so far. The templates are
// locked by then, and nobody else can issue from them.
func (tx *transaction) readClaims(t *trip) {
	counters, batches := map[usesKey]bool{}, map[claimKey]bool{}
	var templates, persons, inTemplates, owners, names texts
	for _, key := range tx.asked.claims {
		key.person = tx.person(key.person)
		counter := usesKey{key.template, key.person}
		if key.person != "" && !counters[counter] {
			counters[counter] = true
			templates, persons = append(templates, key.template), append(persons, key.person)
		}
		if key.person != "" && key.batch != "" && !batches[key] {
			batches[key] = true
			inTemplates, owners = append(inTemplates, key.template), append(owners, key.person)
			names = append(names, key.batch)
		}
	}
	for _, use := range tx.miscounted {
		if key := (usesKey{use.Template, use.Person}); use.Counter == CounterClaims && !counters[key] {
			templates, persons = append(templates, use.Template), append(persons, use.Person)
		}
	}
	if len(templates) > 0 {
		t.query("read claims", readClaimsSQL, tx.scanClaims, templates, persons)
	}
	if len(names) > 0 {
		t.query("read batches", readBatchesSQL, tx.scanInBatch, inTemplates, owners, names)
	}
}

// readPolicies hands over the policies that the coupons, the templates and the
// requests name. It asks the database only for versions it has never seen.
func (tx *transaction) readPolicies(ctx context.Context) error {
	needed := map[int64]bool{}
	for _, version := range slices.Concat(tx.asked.policies, tx.revivable) {
		needed[version] = true
	}
	for _, l := range tx.templates {
		needed[l.template.PolicyVersion] = true
	}
	for _, c := range tx.coupons {
		needed[c.PolicyVersion] = true
		if c.Redemption != nil {
			needed[c.Redemption.PolicyVersion] = true
		}
	}
	known, unknown := tx.store.knownPolicies(needed)
	if len(unknown) > 0 {
		t := &trip{}
		t.query("read policies", readPoliciesSQL, func(rows pgx.Rows) error {
			p, err := tx.store.scanPolicy(rows)
			known = append(known, p)
			return err
		}, integers(unknown))
		if err := t.send(ctx, tx.store, tx.conn); err != nil {
			return err
		}
	}
	for _, p := range known {
		tx.world.AddPolicy(p)
	}
	return nil
}

// order finds the order that a row belongs to. There is one, because only rows of
// locked orders are asked for and rows are never written without their order.
func (tx *transaction) order(id string) (*coupon.Order, error) {
	if o := tx.orders[id]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("order %s has rows of its own, but no row itself", id)
}
