package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/persons_of.sql
	personsOfSQL string
	//go:embed sql/persons_coupons.sql
	personsCouponsSQL string
	//go:embed sql/persons_counters.sql
	personsCountersSQL string
	//go:embed sql/persons_unlink.sql
	personsUnlinkSQL string
)

// Refusals of changes of who is who.
var (
	// ErrSamePerson says that two ids are one person already, so that neither can become
	// another id of the other.
	ErrSamePerson = errors.New("both are one person already")
	// ErrAliasTaken says that an id belongs to another person.
	ErrAliasTaken = errors.New("it is another id of somebody else")
	// ErrNoAlias says that an id is nobody's other id.
	ErrNoAlias = errors.New("it is no other id of anybody")
	// ErrNoPerson says that an id is empty, or stands for somebody who was erased, or is being
	// erased.
	ErrNoPerson = errors.New("it is no id of a person")
)

// errBeingErased says that an erasure was begun and is not complete.
var errBeingErased = fmt.Errorf("%w any more: an erasure has begun, and has to be completed first", ErrNoPerson)

// pseudonymPrefix begins the ids that stand for erased persons.
const pseudonymPrefix = "erased:"

// Alias is another id of a person.
type Alias struct {
	ID, Person string
	Since      time.Time
	// Actor said so.
	Actor string
}

// Person is who an id stands for, and what that person has.
type Person struct {
	ID      string
	Aliases []Alias
	// Coupons counts the person's coupons by state.
	Coupons map[coupon.State]int64
	// Counters are in the order of templates.
	Counters []PersonCounter
}

// PersonCounter is what a person holds and has claimed of one template.
type PersonCounter struct {
	Template      string
	Held, Claimed int64
	// Day is the local day of the latest claim, OnDay how many were claimed on it.
	Day   string
	OnDay int64
}

// Person gives who an id stands for. Somebody of whom nothing is known has nothing.
func (s *Store) Person(ctx context.Context, id string) (p Person, err error) {
	err = s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		p.ID = coupon.FoldPerson(id)
		p.Coupons = map[coupon.State]int64{}
		t := &trip{}
		t.query("read aliases", personsOfSQL, list(&p.Aliases, scanPersonAlias), p.ID)
		if err := v.send(ctx, t); err != nil {
			return err
		}
		if len(p.Aliases) > 0 {
			p.ID = p.Aliases[0].Person
		}
		t = &trip{}
		t.query("count coupons", personsCouponsSQL, func(rows pgx.Rows) error {
			var state string
			var n int64
			err := rows.Scan(&state, &n)
			p.Coupons[coupon.State(state)] = n
			return err
		}, p.ID)
		t.query("read counters", personsCountersSQL, list(&p.Counters, scanPersonCounter), p.ID, s.options.PageSize)
		return v.send(ctx, t)
	})
	if err != nil {
		return p, fmt.Errorf("read a person: %w", err)
	}
	return p, nil
}

func scanPersonAlias(row scanTarget) (a Alias, err error) {
	err = row.Scan(&a.ID, &a.Person, toTime{&a.Since}, &a.Actor)
	return a, err
}

func scanPersonCounter(row scanTarget) (c PersonCounter, err error) {
	err = row.Scan(&c.Template, &c.Held, &c.Claimed, &c.Day, &c.OnDay)
	return c, err
}

// Link asks to make an id, Alias, another id of a person.
type Link struct {
	Alias, Person string
	Actor, Reason string
}

// Linked is what came of it.
type Linked struct {
	// Person is who it is, whatever id of the person was given.
	Person string
	// Already says that it was so before.
	Already bool
	Moved   Moved
}

// Moved counts the rows that became somebody else's.
type Moved struct {
	Coupons  int64 `json:"coupons"`
	Counters int64 `json:"counters"`
	Orders   int64 `json:"orders"`
}

func (m *Moved) add(other Moved) {
	m.Coupons += other.Coupons
	m.Counters += other.Counters
	m.Orders += other.Orders
}

// LinkPerson is Link without a reason or an account; it is nothing for those who are one
// already.
func (s *Store) LinkPerson(ctx context.Context, alias, person, actor string) error {
	_, err := s.Link(ctx, Link{Alias: alias, Person: person, Actor: actor})
	if errors.Is(err, ErrSamePerson) {
		return nil
	}
	return err
}

// Link makes an id another id of a person: with all other ids that it has, and all that
// was its own, in one transaction with its row of the audit log. Orders that were placed
// while their table was being searched, and name no coupon of either, follow in a second
// one. ErrSamePerson, ErrAliasTaken and ErrNoPerson say what stands in the way.
func (s *Store) Link(ctx context.Context, l Link) (done Linked, err error) {
	alias, person := coupon.FoldPerson(l.Alias), coupon.FoldPerson(l.Person)
	for _, id := range []string{alias, person} {
		if id == "" || strings.HasPrefix(id, pseudonymPrefix) {
			return done, wrapLink(ErrNoPerson)
		}
	}
	if alias == person {
		return done, wrapLink(ErrSamePerson)
	}
	for linked := false; ; linked = true {
		orders, err := s.ordersOf(ctx, alias)
		if err != nil {
			return done, wrapLink(err)
		}
		if linked && len(orders) == 0 {
			return done, nil
		}
		err = s.amongPersons(ctx, func(ctx context.Context, p *personsChange) error {
			return p.link(ctx, l, move{from: alias, to: person, orders: orders}, linked, &done)
		})
		if err != nil || done.Already {
			return done, wrapLink(err)
		}
	}
}

func wrapLink(err error) error {
	if err != nil {
		return fmt.Errorf("link persons: %w", err)
	}
	return nil
}

// link is Link once everybody else waits. again says that the ids were linked by the
// transaction before.
func (p *personsChange) link(ctx context.Context, l Link, m move, again bool, done *Linked) error {
	who, err := p.whoIs(ctx, m.from, m.to)
	if err != nil {
		return err
	}
	if is, known := who[m.to]; known {
		m.to = is
	}
	is, known := who[m.from]
	switch {
	case strings.HasPrefix(m.to, pseudonymPrefix), strings.HasPrefix(is, pseudonymPrefix):
		return errBeingErased
	case m.from == m.to:
		return ErrSamePerson
	case known && is != m.to:
		return fmt.Errorf("%w, and would have to be unlinked first", ErrAliasTaken)
	case known && !again:
		done.Person, done.Already = m.to, true
		// What an earlier attempt left behind follows: there is nothing else to move.
		_, err := p.move(ctx, m)
		return err
	}
	moved, err := p.move(ctx, m)
	if err != nil {
		return err
	}
	done.Person = m.to
	done.Moved.add(moved)
	if again {
		return nil
	}
	if err := p.point(ctx, m, l.Actor); err != nil {
		return err
	}
	return p.audit(ctx, coupon.AuditRow{
		Actor: l.Actor, Action: "LinkPerson", Subject: m.to, Reason: l.Reason, Code: coupon.OK, Count: moved.Coupons,
	}, linkArguments{m.from, m.to, moved})
}

// linkArguments is how the audit log tells of a link. Its members are known to the erasure.
type linkArguments struct {
	Alias  string `json:"alias"`
	Person string `json:"person"`
	Moved
}

// Unlink makes an id somebody of their own again, who has nothing: what the id had when
// it was linked, and what came since, stays the person's. ErrNoAlias says that the id is
// nobody's other id.
func (s *Store) Unlink(ctx context.Context, alias, actor, reason string) (person string, err error) {
	alias = coupon.FoldPerson(alias)
	err = s.amongPersons(ctx, func(ctx context.Context, p *personsChange) error {
		who, err := p.whoIs(ctx, alias)
		if err != nil {
			return err
		}
		is, known := who[alias]
		if !known || strings.HasPrefix(is, pseudonymPrefix) {
			return ErrNoAlias
		}
		person = is
		t := &trip{}
		t.exec("take the alias back", personsUnlinkSQL, alias)
		if err := p.send(ctx, t); err != nil {
			return err
		}
		return p.audit(ctx, coupon.AuditRow{
			Actor: actor, Action: "UnlinkPerson", Subject: person, Reason: reason, Code: coupon.OK,
		}, linkArguments{Alias: alias, Person: person})
	})
	if err != nil {
		return "", fmt.Errorf("unlink a person: %w", err)
	}
	return person, nil
}
