package main

import (
	"errors"
	"time"

	"couponlease/internal/console"
)

type personsCommand struct {
	Show   personsShow   `cmd:"" help:"Print who an id stands for, and what that person has."`
	Link   personsLink   `cmd:"" help:"Make an id another id of a person."`
	Unlink personsUnlink `cmd:"" help:"Make an id somebody of their own again."`
	Erase  personsErase  `cmd:"" help:"Put a pseudonym in the place of a person, everywhere."`
}

type personsShow struct {
	ID string `arg:"" placeholder:"ID" help:"Any id of the person, in any letter case if it is a mail address."`
}

func (c personsShow) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		person, err := d.Person(s.ctx, c.ID)
		if err != nil {
			return err
		}
		return s.write(person)
	})
}

// byWhom is who changes something about a person, and why.
type byWhom struct {
	why
	Actor string `placeholder:"WHO" help:"Who gives the command, for the audit log; user@host if absent."`
}

func (b byWhom) change(id, person string) console.PersonChange {
	return console.PersonChange{ID: id, Person: person, Actor: given{Actor: b.Actor}.who(), Reason: b.Reason}
}

type personsLink struct {
	byWhom
	Alias  string `arg:"" placeholder:"ALIAS" help:"The id that becomes another one of the person."`
	Person string `arg:"" placeholder:"PERSON" help:"Any id of the person."`
}

func (personsLink) Help() string {
	return `From now on both are one: limits count them together, and what one owns, the other may use. What ALIAS has becomes
PERSON's: coupons, orders, what it holds and has claimed. Nothing is taken away, also where that is more than one person
may have: there is just nothing more to get. Of a batch from which both had a coupon, both coupons stay. If ALIAS has
other ids, they come along. The daemons may be at work; whoever acts for a person waits for a moment.

  couponctl persons link ann@example.org customer-4711 --reason "same person, ticket 4714"`
}

func (c personsLink) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		done, err := d.LinkPerson(s.ctx, c.change(c.Alias, c.Person))
		if err != nil {
			return err
		}
		return s.write(done)
	})
}

type personsUnlink struct {
	byWhom
	Alias string `arg:"" placeholder:"ALIAS" help:"The id that is no longer the person's."`
}

func (personsUnlink) Help() string {
	return `The id is somebody new from now on, who has nothing: what it had when it was linked, and what came since, stays the
person's, because nobody can tell any more what was whose.

  couponctl persons unlink ann@example.org --reason "two persons after all, ticket 4715"`
}

func (c personsUnlink) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		done, err := d.UnlinkPerson(s.ctx, c.change(c.Alias, ""))
		if err != nil {
			return err
		}
		return s.write(done)
	})
}

type personsErase struct {
	byWhom
	ID     string        `arg:"" placeholder:"ID" help:"Any id of the person."`
	DryRun bool          `help:"Only count what names the person."`
	Wait   time.Duration `default:"1m" help:"How long to wait for messages that name the person to be published."`
}

func (personsErase) Help() string {
	return `Puts a pseudonym (erased: and a UUID) in the place of all ids of the person, in every table: coupons, counters, orders,
dead letters, the ledger's reasons, the audit log, notes. Coupons, limits and ledger stay as they are, and check and
replay verify stay clean. A dead letter that is replayed concerns the pseudonym. It cannot be taken back.

Afterwards the ids are unknown: who comes with one of them is somebody new, who may claim again as soon as the daemons
have seen it, a few seconds later. Stop the person's traffic
upstream first. Somebody of whom nothing is known is no error.

Not erased, because it is not here: what was published before. Events that carry the id are their subscribers' business.
Messages that are still to be published go out as they are, and are waited for (--wait); if they stay, the exit code is 3,
and the same command again goes on. Redis holds fingerprints only. Ids of something else stay, also if the id of
the person is a part of them: do not make keys, orders or codes out of it. In prose the id is found where it is a word
of its own.

  couponctl persons erase customer-4711 --dry-run --reason "request 17"
  couponctl persons erase customer-4711 --reason "request 17"`
}

func (c personsErase) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	if c.Wait < 0 {
		return console.Usage(errors.New("--wait: choose 0 or more"))
	}
	return s.withSchema(func(d *console.Database) error {
		by := c.change(c.ID, "")
		done, err := d.ErasePerson(s.ctx, console.PersonErasure{
			ID: by.ID, Actor: by.Actor, Reason: by.Reason, DryRun: c.DryRun, Wait: c.Wait,
		})
		if err != nil {
			return err
		}
		if err := s.write(done); err != nil {
			return err
		}
		if done.Waiting > 0 && !c.DryRun {
			return errRefused
		}
		return nil
	})
}
