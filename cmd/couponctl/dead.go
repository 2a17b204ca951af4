package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/deadletter"
)

type deadCommand struct {
	Stats   deadStats   `cmd:"" help:"Count dead letters by status, type and reason."`
	Groups  deadGroups  `cmd:"" help:"Put dead letters with the same cause together."`
	List    deadList    `cmd:"" help:"List dead letters, newest first."`
	Show    deadShow    `cmd:"" help:"Print a dead letter with everything."`
	Export  deadExport  `cmd:"" help:"Write dead letters as JSON, one a line."`
	Discard deadDiscard `cmd:"" help:"Mark dead letters as not to be applied."`
	Restore deadRestore `cmd:"" help:"Take discarding back."`
	Note    deadNote    `cmd:"" help:"Write a note on a dead letter."`
	Replay  deadReplay  `cmd:"" help:"Have dead letters applied, or see what would come of it."`
	Edit    deadEdit    `cmd:"" help:"Put a corrected message in the place of one that cannot be applied."`
}

// deadFilter selects dead letters.
type deadFilter struct {
	Type     string    `group:"Which dead letters" placeholder:"TYPE" help:"Messages of this type, such as order.placed.v1."`
	Code     string    `name:"reason-code" group:"Which dead letters" placeholder:"CODE" help:"Those with this reason, such as CRASH_LOOP."`
	Group    string    `group:"Which dead letters" placeholder:"ID" help:"Those with this cause: see couponctl dead groups."`
	Coupon   string    `group:"Which dead letters" placeholder:"CODE" help:"Those about this coupon, in any letter case."`
	Order    string    `group:"Which dead letters" placeholder:"ID" help:"Those about this order."`
	Since    time.Time `group:"Which dead letters" placeholder:"TIME" help:"Those that failed last at this time or later (RFC 3339)."`
	Until    time.Time `group:"Which dead letters" placeholder:"TIME" help:"Those that failed last before this time (RFC 3339)."`
	Text     string    `group:"Which dead letters" placeholder:"TEXT" help:"Those with this message id, or with this text in error or body."`
	Attempts int64     `group:"Which dead letters" placeholder:"N" help:"Those that were tried so often, at least."`
	State    []string  `group:"Which dead letters" placeholder:"STATUS" help:"NEW, REPLAYED, EDITED, RESOLVED, DISCARDED, or ALL."`
}

// filter gives the letters meant; states are those of a command when none are asked for.
func (f deadFilter) filter(ids []string, states ...deadletter.Status) (deadletter.Filter, error) {
	result := deadletter.Filter{
		Type: f.Type, Reason: f.Code, Group: f.Group, Coupon: console.DeadCoupon(f.Coupon), Order: f.Order,
		Since: f.Since, Until: f.Until, Text: f.Text, Attempts: f.Attempts, IDs: slices.Compact(slices.Sorted(slices.Values(ids))),
	}
	for _, id := range ids {
		if deadletter.ParseItem(id+"/1").Job == "" {
			return result, console.Usage(fmt.Errorf("%q is not the id of a dead letter: `couponctl dead list` shows them", id))
		}
	}
	if f.Attempts < 0 {
		return result, console.Usage(errors.New("--attempts cannot be below 0"))
	}
	for _, state := range f.State {
		status := deadletter.Status(strings.ToUpper(state))
		if status == "ALL" {
			return result, nil
		}
		if !slices.Contains(deadletter.Statuses(), status) {
			return result, console.Usage(fmt.Errorf("--state %s: choose among %v and ALL", state, deadletter.Statuses()))
		}
		result.States = append(result.States, status)
	}
	if len(f.State) == 0 && len(ids) == 0 {
		result.States = states
	}
	return result, nil
}

// isEmpty says that no letters in particular are meant.
func (f deadFilter) isEmpty() bool {
	return f.Type == "" && f.Code == "" && f.Group == "" && f.Coupon == "" && f.Order == "" && f.Since.IsZero() &&
		f.Until.IsZero() && f.Text == "" && f.Attempts == 0 && len(f.State) == 0
}

// decided is who changes dead letters by hand, and why.
type decided struct {
	why
	Actor string `placeholder:"WHO" help:"Who gives the command, for the audit log; user@host if absent."`
}

func (d decided) decision() (deadletter.Decision, error) {
	return deadletter.Decision{Actor: cmp.Or(d.Actor, actor()), Reason: d.Reason}, d.mustSay()
}

// several is a change of letters that are named, or selected by a filter and counted
// first.
type several struct {
	decided
	deadFilter
	IDs []string `arg:"" optional:"" name:"id" placeholder:"ID" help:"Ids of dead letters."`
	Yes bool     `help:"Do it to all letters that the filter selects; without it they are only counted."`
}

// errUnsure ends a command that would change more than was named.
var errUnsure = errors.New("nothing was changed: add --yes to do it")

// letters gives the letters meant, and refuses a filter that was not confirmed.
func (c several) letters(s *session, d *console.Database, states ...deadletter.Status) (deadletter.Filter, error) {
	f, err := c.filter(c.IDs, states...)
	switch {
	case err != nil:
		return f, err
	case len(c.IDs) > 0 && !c.isEmpty():
		return f, console.Usage(errors.New("name letters by id or by filter, and not by both"))
	case len(c.IDs) == 0 && c.isEmpty():
		return f, console.Usage(errors.New("name letters by id or by filter (--state NEW are all new ones)"))
	case len(c.IDs) > 0 || c.Yes:
		return f, nil
	}
	stats, err := d.DeadStats(s.ctx, f)
	if err != nil {
		return f, err
	}
	return f, console.Usage(fmt.Errorf("%d dead letters are selected; %w", stats.Letters, errUnsure))
}

type deadStats struct{ deadFilter }

func (c deadStats) Run(s *session) error {
	f, err := c.filter(nil)
	if err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		stats, err := d.DeadStats(s.ctx, f)
		if err != nil {
			return err
		}
		return s.write(stats)
	})
}

type deadGroups struct {
	deadFilter
	Limit int `default:"50" help:"Groups that are shown, those with most letters first."`
}

func (deadGroups) Help() string {
	return `Letters are in one group when type, reason and error agree, ids, numbers and times in the error aside. Without
--state: letters that are new or being replayed.

  couponctl dead groups
  couponctl dead replay --group 5f0c… --dry-run`
}

func (c deadGroups) Run(s *session) error {
	f, err := c.filter(nil, deadletter.New, deadletter.Replayed)
	if err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		groups, err := d.DeadGroups(s.ctx, f, c.Limit)
		if err != nil {
			return err
		}
		return s.write(groups)
	})
}

type deadList struct {
	deadFilter
	Limit  int    `default:"50" help:"Letters of a page."`
	Cursor string `placeholder:"ID" help:"The page behind this letter, as the page before says."`
}

func (deadList) Help() string {
	return `Without --state: letters that are new or being replayed.

  couponctl dead list --reason-code CRASH_LOOP
  couponctl dead list --coupon SPRING-1 --state ALL
  couponctl dead list --text "deadline exceeded" --output json | jq -r '.letters[].id'`
}

func (c deadList) Run(s *session) error {
	f, err := c.filter(nil, deadletter.New, deadletter.Replayed)
	if err != nil {
		return err
	}
	if c.Cursor != "" && deadletter.ParseItem(c.Cursor+"/1").Job == "" {
		return console.Usage(fmt.Errorf("--cursor %q: take what the page before says", c.Cursor))
	}
	return s.withSchema(func(d *console.Database) error {
		page, err := d.DeadLetters(s.ctx, f, c.Cursor, c.Limit)
		if err != nil {
			return err
		}
		return s.write(page)
	})
}

type deadShow struct {
	ID string `arg:"" placeholder:"ID" help:"Id of the dead letter."`
}

func (c deadShow) Run(s *session) error {
	if _, err := (deadFilter{}).filter([]string{c.ID}); err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		view, err := d.DeadLetter(s.ctx, c.ID)
		if err != nil {
			return err
		}
		return s.write(view)
	})
}

type deadExport struct {
	deadFilter
	IDs []string `arg:"" optional:"" name:"id" placeholder:"ID" help:"Ids of dead letters; all that the filter selects if absent."`
}

func (deadExport) Help() string {
	return `One JSON object a line, in the order of filing, with body and headers and without lease tokens.

  couponctl dead export --group 5f0c… > letters.ndjson`
}

func (c deadExport) Run(s *session) error {
	f, err := c.filter(c.IDs)
	if err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		out := bufio.NewWriter(s.stdout)
		count, err := d.ExportDead(s.ctx, f, out)
		if err := errors.Join(err, out.Flush()); err != nil {
			return err
		}
		fmt.Fprintf(s.stderr, "couponctl: %d dead letters\n", count)
		return nil
	})
}

type deadDiscard struct{ several }

func (deadDiscard) Help() string {
	return `Discarded letters are kept, and couponctl dead restore takes it back. Letters that are being replayed, or that are not
new, are not discarded: exit code 3 when they are named by id.

  couponctl dead discard 0199… --reason "the order was a test"
  couponctl dead discard --reason-code BAD_JSON --reason "the producer sent them again" --yes`
}

func (c deadDiscard) Run(s *session) error {
	return c.change(s, deadletter.New, (*console.Database).DiscardDead)
}

type deadRestore struct{ several }

func (deadRestore) Help() string {
	return `Makes discarded letters new again, and a letter that was edited when the letter with the corrected message was
discarded.

  couponctl dead restore 0199… --reason "it was no test"`
}

func (c deadRestore) Run(s *session) error {
	return c.change(s, deadletter.Discarded, (*console.Database).RestoreDead)
}

type noted struct {
	ID   string `json:"id"`
	Note string `json:"note"`
}

func (n noted) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "noted on %s\n", n.ID)
	return err
}

type deadNote struct {
	decided
	ID   string `arg:"" placeholder:"ID" help:"Id of the dead letter."`
	Note string `arg:"" placeholder:"TEXT" help:"The note, instead of the one that is there; empty for none."`
}

func (c deadNote) Run(s *session) error {
	by, err := c.decision()
	if err != nil {
		return err
	}
	if _, err := (deadFilter{}).filter([]string{c.ID}); err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		if err := d.NoteDead(s.ctx, c.ID, c.Note, by); err != nil {
			return err
		}
		return s.write(noted{c.ID, c.Note})
	})
}

type deadEdit struct {
	decided
	ID        string `arg:"" placeholder:"ID" help:"Id of the dead letter."`
	Body      string `required:"" placeholder:"FILE" help:"The corrected body; - is standard input."`
	AllowEdit bool   `env:"COUPONLEASE_ALLOW_EDIT" help:"Editing is switched off unless this says otherwise: what a producer has said is changed."`

	config.Replies `embed:""`
}

func (deadEdit) Help() string {
	return `Makes a new message with an id of its own, whose cause is the old one, and which has to be replayed like any other
letter. The old letter is EDITED, cannot be replayed any more, and is resolved with the new one. A message that cannot
be read is refused.

  couponctl dead edit 0199… --body corrected.json --reason "amount was text, ticket 4711" --allow-edit`
}

func (c deadEdit) Run(s *session) error {
	by, err := c.decision()
	if err != nil {
		return err
	}
	if _, err := (deadFilter{}).filter([]string{c.ID}); err != nil {
		return err
	}
	if !c.AllowEdit {
		return console.Usage(errors.New("editing is switched off: add --allow-edit, or set COUPONLEASE_ALLOW_EDIT=true"))
	}
	if err := c.CheckReplies(); err != nil {
		return console.Usage(err)
	}
	source, err := s.open(c.Body)
	if err != nil {
		return console.Usage(err)
	}
	defer source.Close()
	body, err := io.ReadAll(io.LimitReader(source, deadletter.MaxBody))
	if err != nil {
		return fmt.Errorf("read the corrected body: %w", err)
	}
	return s.withSchema(func(d *console.Database) error {
		view, err := d.EditDead(s.ctx, c.ID, body, c.ReplyPrefixes(), by)
		if err != nil {
			return err
		}
		return s.write(view)
	})
}
