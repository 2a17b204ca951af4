package store

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/persons_shared.sql
	personsSharedSQL string
	//go:embed sql/persons_alone.sql
	personsAloneSQL string
	//go:embed sql/link_person.sql
	linkPersonSQL string
	//go:embed sql/persons_find_orders.sql
	personsFindOrdersSQL string
	//go:embed sql/persons_lock_orders.sql
	personsLockOrdersSQL string
	//go:embed sql/persons_move_orders.sql
	personsMoveOrdersSQL string
	//go:embed sql/persons_lock_templates.sql
	personsLockTemplatesSQL string
	//go:embed sql/persons_admit_counters.sql
	personsAdmitCountersSQL string
	//go:embed sql/persons_lock_counters.sql
	personsLockCountersSQL string
	//go:embed sql/persons_add_counters.sql
	personsAddCountersSQL string
	//go:embed sql/persons_drop_counters.sql
	personsDropCountersSQL string
	//go:embed sql/persons_honour.sql
	personsHonourSQL string
	//go:embed sql/persons_lock_coupons.sql
	personsLockCouponsSQL string
	//go:embed sql/persons_move_coupons.sql
	personsMoveCouponsSQL string
)

// personsChange is a transaction that changes who is who. It comes first in the order of
// locks: it waits for whoever counts the coupons of templates, which keeps nobody else
// waiting, then for all transactions that act for persons, and keeps those to come waiting.
// Everything else of the engine goes on.
type personsChange struct {
	store *Store
	conn  *pgxpool.Conn
}

// amongPersons runs a change and commits it.
func (s *Store) amongPersons(ctx context.Context, change func(context.Context, *personsChange) error) error {
	acquire, cancel := s.deadline(ctx)
	defer cancel()
	conn, err := s.pool.Acquire(acquire)
	if err != nil {
		return fmt.Errorf("get a database connection: %w", err)
	}
	defer giveBack(ctx, conn)
	p := &personsChange{s, conn}
	t := &trip{}
	t.exec("begin", beginSQL)
	t.exec("set the style of plans", settingsSQL)
	t.exec("wait for those that count", countAloneSQL)
	if err := p.send(ctx, t); err != nil {
		return orCounting(err)
	}
	t = &trip{}
	t.exec("wait for those that act for persons", personsAloneSQL)
	if err := p.send(ctx, t); err != nil {
		return err
	}
	if err := change(ctx, p); err != nil {
		return err
	}
	t = &trip{}
	t.commit()
	return commitOutcome(p.send(ctx, t))
}

func (p *personsChange) send(ctx context.Context, t *trip) error { return t.send(ctx, p.store, p.conn) }

// whoIs gives the persons of those ids that are aliases.
func (p *personsChange) whoIs(ctx context.Context, ids ...string) (map[string]string, error) {
	who := map[string]string{}
	t := &trip{}
	t.query("read aliases", readAliasesSQL, func(rows pgx.Rows) error {
		var alias, person string
		err := rows.Scan(&alias, &person)
		who[alias] = person
		return err
	}, texts(ids))
	return who, p.send(ctx, t)
}

// ordersOf finds the orders of persons. It reads all orders, and locks none.
func (s *Store) ordersOf(ctx context.Context, persons ...string) (orders []string, err error) {
	err = s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		if err := v.atLeisure(ctx); err != nil {
			return err
		}
		t := &trip{}
		t.query("search the orders", personsFindOrdersSQL, list(&orders, scanText), texts(persons))
		return t.sendWithin(ctx, leisure+patience, v.conn)
	})
	return orders, err
}

// move gives what one person has to another one.
type move struct {
	from, to string
	// orders were found to be from's.
	orders []string
}

// move locks in the order that all writers share, and moves what it locked. Coupons and
// counters cannot be missed: whoever makes one holds its template, or its owner's order.
func (p *personsChange) move(ctx context.Context, m move) (moved Moved, err error) {
	var orders, templates []string
	t := &trip{}
	t.query("lock orders", personsLockOrdersSQL, list(&orders, scanText), m.from, texts{m.from, m.to}, texts(m.orders))
	t.query("lock templates", personsLockTemplatesSQL, list(&templates, scanText), m.from)
	if err := p.send(ctx, t); err != nil {
		return moved, err
	}
	owned := texts(templates)
	var counters, coupons []string
	t = &trip{}
	t.exec("admit counters", personsAdmitCountersSQL, m.from, m.to, owned)
	t.exec("lock counters", personsLockCountersSQL, m.from, m.to, owned)
	t.query("lock coupons", personsLockCouponsSQL, list(&coupons, scanText), m.from)
	t.exec("move orders", personsMoveOrdersSQL, m.from, m.to, texts(orders))
	t.exec("add up counters", personsAddCountersSQL, m.from, m.to, owned)
	t.query("drop counters", personsDropCountersSQL, list(&counters, scanText), m.from, owned)
	t.exec("honour what is held", personsHonourSQL, m.to, owned)
	t.exec("move coupons", personsMoveCouponsSQL, m.from, m.to)
	if err := p.send(ctx, t); err != nil {
		return moved, err
	}
	return Moved{int64(len(coupons)), int64(len(counters)), int64(len(orders))}, nil
}

// point makes an id, and all that were its own, other ids of a person.
func (p *personsChange) point(ctx context.Context, m move, actor string) error {
	t := &trip{}
	t.exec("link the ids", linkPersonSQL, m.from, m.to, actor)
	return p.send(ctx, t)
}

// audit writes what a person did by hand, with what it was about.
func (p *personsChange) audit(ctx context.Context, row coupon.AuditRow, about any) (err error) {
	if row.Arguments, err = json.Marshal(about); err != nil {
		return fmt.Errorf("write down what was done to a person: %w", err)
	}
	rows, err := encodeAudits([]*coupon.AuditRow{&row})
	if err != nil {
		return err
	}
	t := &trip{}
	t.exec("write the audit log", insertAuditsSQL, auditColumns(rows)...)
	return p.send(ctx, t)
}
