package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

//go:embed sql/persons_forget.sql
var personsForgetSQL string

// errWhoChanged says that the person got or lost an id at this very moment.
var errWhoChanged = errors.New("the person's ids were changed meanwhile: ask again")

// Erasure asks to put a pseudonym in the place of a person.
type Erasure struct {
	// ID is any id of the person.
	ID            string
	Actor, Reason string
	// DryRun only counts.
	DryRun bool
	// Wait bounds how long to wait for messages in the outbox that name the person.
	Wait time.Duration
	// Unpublished does not mind such messages.
	Unpublished bool
}

// outboxPoll is how often the outbox is looked at again.
const outboxPoll = 500 * time.Millisecond

// Erased is what came of it, or would.
type Erased struct {
	// Pseudonym stands for the person from now on; "" when nothing names the person, and in
	// a dry run.
	Pseudonym string
	// Begun says that an earlier erasure of the person was not completed, and this one goes
	// on with it.
	Begun bool
	// Waiting is how many rows of the outbox name the person, still to be published. Then
	// the erasure is not complete, and asking for it again goes on with it.
	Waiting int64
	// Aliases is how many other ids the person had.
	Aliases int64
	Moved   Moved
	// Texts are the columns that named the person.
	Texts []ErasedTexts
}

// ErasedTexts counts the contents of a column that named a person.
type ErasedTexts struct {
	Table  string `json:"table"`
	Column string `json:"column"`
	Rows   int64  `json:"rows"`
}

// Found says whether anything named the person.
func (e Erased) Found() bool {
	return e.Begun || e.Waiting > 0 || e.Aliases > 0 || e.Moved != Moved{} || len(e.Texts) > 0
}

// ErasePerson is Erase without a reason, an account, or a look at the outbox.
func (s *Store) ErasePerson(ctx context.Context, id string) error {
	_, err := s.Erase(ctx, Erasure{ID: id, Unpublished: true})
	return err
}

// Erase puts a pseudonym in the place of a person's ids, wherever they are: what the person
// has, the orders, and every text. Coupons, limits and the ledger stay as they are.
//
// It is several transactions. The first makes the person another id of the pseudonym, so
// that nothing new is kept under the old ids; the last one forgets the ids. Asked for again,
// an erasure that was interrupted goes on. Afterwards the ids are unknown: who comes with
// one of them is somebody new.
func (s *Store) Erase(ctx context.Context, asked Erasure) (done Erased, err error) {
	done, err = s.erase(ctx, asked)
	if err != nil {
		return done, fmt.Errorf("erase a person: %w", err)
	}
	return done, nil
}

func (s *Store) erase(ctx context.Context, asked Erasure) (done Erased, err error) {
	person, err := s.Person(ctx, asked.ID)
	if err != nil {
		return done, err
	}
	id := coupon.FoldPerson(asked.ID)
	if id == "" || strings.HasPrefix(id, pseudonymPrefix) {
		return done, ErrNoPerson
	}
	ids := idsOf(id, person)
	if done, err = s.wouldErase(ctx, person, newEraser(pseudonymPrefix, ids...), ids); err != nil {
		return done, err
	}
	if asked.DryRun || !done.Found() {
		return done, nil
	}
	pseudonym := pseudonymPrefix + s.options.Source.ID()
	run := &erasure{store: s, asked: asked, person: person, ids: ids, eraser: newEraser(pseudonym, ids...)}
	run.done.Begun, run.done.Aliases = done.Begun, done.Aliases
	err = run.run(ctx)
	return run.done, err
}

// idsOf lists what the person may be called, the pseudonym of an erasure that was
// interrupted not among it.
func idsOf(id string, person Person) []string {
	ids := []string{id, person.ID}
	for _, alias := range person.Aliases {
		ids = append(ids, alias.ID)
	}
	return slices.DeleteFunc(distinct(ids), func(id string) bool { return strings.HasPrefix(id, pseudonymPrefix) })
}

// wouldErase counts what names a person.
func (s *Store) wouldErase(ctx context.Context, person Person, e *eraser, ids []string) (would Erased, err error) {
	orders, err := s.ordersOf(ctx, ids...)
	if err != nil {
		return would, err
	}
	would.Begun = strings.HasPrefix(person.ID, pseudonymPrefix)
	would.Aliases = int64(len(ids) - 1)
	would.Moved.Orders = int64(len(orders))
	if !would.Begun {
		would.Moved.Counters = int64(len(person.Counters))
		for _, n := range person.Coupons {
			would.Moved.Coupons += n
		}
	}
	for _, in := range personPlaces {
		_, count, err := s.namings(ctx, in, e)
		if err != nil {
			return would, err
		}
		if count > 0 {
			would.Texts = append(would.Texts, ErasedTexts{in.table, in.column, count})
		}
	}
	would.Waiting, err = s.waitsFor(ctx, e)
	return would, err
}

// waitsFor counts the rows of the outbox that name a person. They are left alone: a message
// is published as it was written.
func (s *Store) waitsFor(ctx context.Context, e *eraser) (int64, error) {
	_, count, err := s.namings(ctx, place{outboxTable, outboxRows, (*eraser).document}, e)
	return count, err
}

// erasure is one run of Erase.
type erasure struct {
	store  *Store
	asked  Erasure
	person Person
	ids    []string
	eraser *eraser
	done   Erased
}

func (r *erasure) run(ctx context.Context) error {
	if err := r.moveAll(ctx); err != nil {
		return err
	}
	if err := r.awaitOutbox(ctx); err != nil || r.done.Waiting > 0 {
		return err
	}
	for _, in := range personPlaces {
		n, err := r.store.eraseIn(ctx, in, r.eraser)
		if err != nil {
			return err
		}
		if n > 0 {
			r.done.Texts = append(r.done.Texts, ErasedTexts{in.table, in.column, n})
		}
	}
	return r.store.amongPersons(ctx, r.forget)
}

// awaitOutbox waits until no message that names the person is still to be published.
func (r *erasure) awaitOutbox(ctx context.Context) (err error) {
	if r.asked.Unpublished {
		return nil
	}
	patience := time.NewTimer(r.asked.Wait)
	defer patience.Stop()
	for {
		if r.done.Waiting, err = r.store.waitsFor(ctx, r.eraser); err != nil || r.done.Waiting == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			return nil
		case <-time.After(outboxPoll):
		}
	}
}

// moveAll moves what the person has to the pseudonym, until a search finds nothing more.
// Each id has a transaction of its own, because each begins anew in the order of locks.
func (r *erasure) moveAll(ctx context.Context) error {
	for began := false; ; began = true {
		orders, err := r.store.ordersOf(ctx, r.ids...)
		if err != nil {
			return err
		}
		if began && len(orders) == 0 {
			return nil
		}
		for i, id := range r.ids {
			if err := r.store.amongPersons(ctx, func(ctx context.Context, p *personsChange) error {
				if !began && i == 0 {
					if err := r.begin(ctx, p); err != nil {
						return err
					}
				}
				moved, err := p.move(ctx, move{from: id, to: r.done.Pseudonym, orders: orders})
				r.done.Moved.add(moved)
				return err
			}); err != nil {
				return err
			}
		}
	}
}

// begin makes all ids those of the pseudonym: that of the erasure that was interrupted, if
// there was one.
func (r *erasure) begin(ctx context.Context, p *personsChange) error {
	var known []Alias
	t := &trip{}
	t.query("read aliases", personsOfSQL, list(&known, scanPersonAlias), r.person.ID)
	if err := p.send(ctx, t); err != nil {
		return err
	}
	if !slices.Equal(idsOf(r.ids[0], Person{ID: r.person.ID, Aliases: known}), r.ids) {
		return errWhoChanged
	}
	r.done.Pseudonym = r.eraser.pseudonym
	if strings.HasPrefix(r.person.ID, pseudonymPrefix) {
		r.done.Pseudonym = r.person.ID
		r.eraser = newEraser(r.person.ID, r.ids...)
		return nil // goes on
	}
	if err := p.point(ctx, move{from: r.person.ID, to: r.done.Pseudonym}, r.actor()); err != nil {
		return err
	}
	return p.audit(ctx, r.auditRow("STARTED"), struct{}{})
}

// forget is the last transaction: nobody knows any more whom the pseudonym stands for.
func (r *erasure) forget(ctx context.Context, p *personsChange) error {
	t := &trip{}
	t.exec("forget the ids", personsForgetSQL, r.done.Pseudonym)
	if err := p.send(ctx, t); err != nil {
		return err
	}
	row := r.auditRow("DONE")
	row.Count = r.done.Moved.Coupons
	return p.audit(ctx, row, struct {
		Moved
		Texts []ErasedTexts `json:"texts"`
	}{r.done.Moved, r.done.Texts})
}

// auditRow tells of the erasure without naming the person.
func (r *erasure) auditRow(code coupon.Code) coupon.AuditRow {
	return coupon.AuditRow{
		Actor: r.actor(), Action: "ErasePerson", Subject: r.done.Pseudonym,
		Reason: string(r.eraser.prose([]byte(r.asked.Reason))), Code: code,
	}
}

func (r *erasure) actor() string { return string(r.eraser.same([]byte(r.asked.Actor))) }
