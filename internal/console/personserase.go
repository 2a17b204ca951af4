package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"couponlease/internal/store"
)

// PersonErasure asks to erase a person.
type PersonErasure struct {
	// ID is any id of the person.
	ID            string
	Actor, Reason string
	// DryRun only counts.
	DryRun bool
	// Wait bounds how long to wait for messages that name the person to be published.
	Wait time.Duration
}

// PersonErased is what came of it, or would.
type PersonErased struct {
	// Pseudonym stands for the person from now on; "" in a dry run, and when nothing names
	// the person.
	Pseudonym string `json:"pseudonym,omitempty"`
	DryRun    bool   `json:"dryRun,omitempty"`
	Found     bool   `json:"found"`
	// Begun says that this went on with an erasure that had not been completed.
	Begun bool `json:"begun,omitempty"`
	// Waiting is how many rows of the outbox name the person; more than 0 says that the
	// erasure is not complete.
	Waiting int64               `json:"outboxRowsWaiting"`
	Aliases int64               `json:"aliases"`
	Texts   []store.ErasedTexts `json:"texts"`
	store.Moved
}

// ErasePerson puts a pseudonym in the place of a person. It waits for messages that are
// still to be published; if that takes too long, the result says so, and asking again goes
// on with the same erasure.
func (d *Database) ErasePerson(ctx context.Context, e PersonErasure) (result PersonErased, err error) {
	if err := errors.Join(checkPerson(e.ID), checkWords(e.Actor, e.Reason)); err != nil {
		return result, Usage(err)
	}
	done, err := d.store.Erase(ctx, store.Erasure{
		ID: e.ID, Actor: e.Actor, Reason: e.Reason, DryRun: e.DryRun, Wait: e.Wait,
	})
	if err != nil {
		return result, personError(err)
	}
	return PersonErased{
		Pseudonym: done.Pseudonym, DryRun: e.DryRun, Found: done.Found(), Begun: done.Begun, Waiting: done.Waiting,
		Aliases: done.Aliases, Texts: slices.Concat([]store.ErasedTexts{}, done.Texts), Moved: done.Moved,
	}, nil
}

// WriteText prints what was done, or would be. It does not name the person.
func (r PersonErased) WriteText(w io.Writer) error {
	out := lines{w: w}
	if !r.Found {
		out.addf("nothing here names that person")
		return out.err
	}
	if r.DryRun {
		out.addf("dry run, nothing was changed; a pseudonym would take the place of the person in")
	} else {
		out.addf("%s takes the place of the person in", r.Pseudonym)
	}
	rows := [][]string{
		{"WHERE", "ROWS"},
		{"user_coupon.owner_id", fmt.Sprint(r.Coupons)},
		{"claim_counter.person_id", fmt.Sprint(r.Counters)},
		{"order_fact.customer_id", fmt.Sprint(r.Orders)},
	}
	for _, t := range r.Texts {
		rows = append(rows, []string{t.Table + "." + t.Column, fmt.Sprint(t.Rows)})
	}
	out.table(rows)
	switch {
	case r.Aliases > 0 && r.DryRun:
		out.addf("the person has %s", count(r.Aliases, "other id"))
	case r.Aliases > 0 && r.Waiting == 0:
		out.addf("the person's %s: forgotten", count(r.Aliases, "other id"))
	}
	if r.Waiting > 0 {
		out.addf("%s of the outbox still to be published with the id", count(r.Waiting, "row"))
		if !r.DryRun {
			out.addf("NOT COMPLETE: run the same command again once they are published; `couponctl check` counts those that " +
				"are set aside")
		}
	}
	return out.err
}
