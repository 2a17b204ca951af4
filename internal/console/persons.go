package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/store"
)

// Person is who an id stands for, and what that person has.
type Person struct {
	ID       string                 `json:"person"`
	Aliases  []PersonAlias          `json:"aliases"`
	Coupons  map[coupon.State]int64 `json:"coupons"`
	Counters []PersonCounter        `json:"counters"`
}

// PersonAlias is another id of a person.
type PersonAlias struct {
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
	Actor string    `json:"actor"`
}

// PersonCounter is what a person holds and has claimed of one template.
type PersonCounter struct {
	Template string `json:"template"`
	Held     int64  `json:"held"`
	Claimed  int64  `json:"claimed"`
	// Day is the local day of the latest claim, OnDay how many were claimed on it.
	Day   string `json:"day,omitempty"`
	OnDay int64  `json:"claimedOnDay"`
}

// Person shows who an id stands for. Somebody of whom nothing is known has nothing.
func (d *Database) Person(ctx context.Context, id string) (Person, error) {
	if err := checkPerson(id); err != nil {
		return Person{}, err
	}
	found, err := d.store.Person(ctx, id)
	if err != nil {
		return Person{}, err
	}
	p := Person{ID: found.ID, Coupons: found.Coupons, Aliases: []PersonAlias{}, Counters: []PersonCounter{}}
	for _, a := range found.Aliases {
		p.Aliases = append(p.Aliases, PersonAlias{a.ID, a.Since, a.Actor})
	}
	for _, c := range found.Counters {
		p.Counters = append(p.Counters, PersonCounter(c))
	}
	return p, nil
}

// WriteText prints one fact a line.
func (p Person) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("person   %s", p.ID)
	for _, a := range p.Aliases {
		out.addf("also     %s, since %s by %s", a.ID, clockTime(a.Since), orDash(a.Actor))
	}
	var states []string
	for _, state := range slices.Sorted(maps.Keys(p.Coupons)) {
		states = append(states, fmt.Sprintf("%d %s", p.Coupons[state], state))
	}
	out.addf("coupons  %s", orDash(strings.Join(states, ", ")))
	if len(p.Counters) == 0 {
		return out.err
	}
	rows := [][]string{{"TEMPLATE", "USES HELD", "CLAIMED", "LATEST DAY", "ON THAT DAY"}}
	for _, c := range p.Counters {
		rows = append(rows, []string{
			c.Template, fmt.Sprint(c.Held), fmt.Sprint(c.Claimed), orDash(c.Day), fmt.Sprint(c.OnDay),
		})
	}
	out.table(rows)
	return out.err
}

// PersonChange asks to change who is who.
type PersonChange struct {
	// ID is the id that becomes somebody else's, or is no longer.
	ID string
	// Person is whose it becomes.
	Person        string
	Actor, Reason string
}

// PersonChanged is what came of it.
type PersonChanged struct {
	ID     string `json:"id"`
	Person string `json:"person"`
	// Linked is whether the id is one of the person's now, Already whether it was before.
	Linked  bool `json:"linked"`
	Already bool `json:"already,omitempty"`
	store.Moved
}

// WriteText prints what became of the id.
func (c PersonChanged) WriteText(w io.Writer) error {
	out := lines{w: w}
	switch {
	case c.Already:
		out.addf("%s was %s already: nothing was done", c.ID, c.Person)
	case c.Linked:
		out.addf("%s is %s now; %s, %s and %s became those of %s", c.ID, c.Person, count(c.Coupons, "coupon"),
			count(c.Orders, "order"), count(c.Counters, "counter"), c.Person)
	default:
		out.addf("%s is nobody but itself now, and has nothing: what it had stays with %s", c.ID, c.Person)
	}
	return out.err
}

// LinkPerson makes an id another id of a person.
func (d *Database) LinkPerson(ctx context.Context, c PersonChange) (PersonChanged, error) {
	if err := errors.Join(checkPerson(c.ID), checkPerson(c.Person), checkWords(c.Actor, c.Reason)); err != nil {
		return PersonChanged{}, Usage(err)
	}
	done, err := d.store.Link(ctx, store.Link{Alias: c.ID, Person: c.Person, Actor: c.Actor, Reason: c.Reason})
	if err != nil {
		return PersonChanged{}, personError(err)
	}
	return PersonChanged{
		ID: coupon.FoldPerson(c.ID), Person: done.Person, Linked: true, Already: done.Already, Moved: done.Moved,
	}, nil
}

// UnlinkPerson makes an id somebody of their own again.
func (d *Database) UnlinkPerson(ctx context.Context, c PersonChange) (PersonChanged, error) {
	if err := errors.Join(checkPerson(c.ID), checkWords(c.Actor, c.Reason)); err != nil {
		return PersonChanged{}, Usage(err)
	}
	person, err := d.store.Unlink(ctx, c.ID, c.Actor, c.Reason)
	if err != nil {
		return PersonChanged{}, personError(err)
	}
	return PersonChanged{ID: coupon.FoldPerson(c.ID), Person: person}, nil
}

// checkPerson says what cannot be the id of a person.
func checkPerson(id string) error {
	if coupon.FoldPerson(id) == "" {
		return Usage(errors.New("a person's id is not empty"))
	}
	if err := checkText("id", id); err != nil {
		return Usage(err)
	}
	return nil
}

// personHints say what somebody can do whose change was refused.
var personHints = []struct {
	err  error
	hint string
}{
	{store.ErrSamePerson, "`couponctl persons show ID` lists the ids of a person; to make another one the first, " +
		"unlink it and link the other way round"},
	{store.ErrAliasTaken, "`couponctl persons unlink` makes it somebody of their own"},
	{store.ErrNoAlias, "`couponctl persons show ID` lists the ids of a person"},
	{store.ErrNoPerson, "ids that begin with erased: stand for persons who were erased; `couponctl persons erase` completes " +
		"an erasure that has begun"},
	{store.ErrCounting, "counting takes less than half a minute"},
}

// personError tells refusals from failures.
func personError(err error) error {
	for _, known := range personHints {
		if errors.Is(err, known.err) {
			return &conflictError{fmt.Sprintf("%v: %s", err, known.hint)}
		}
	}
	return err
}
