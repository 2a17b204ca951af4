package outbox

import (
	"errors"
	"fmt"
	"time"
)

// entry is a fetched row with its messages.
type entry struct {
	Row
	messages []Message
	err      error // why the row cannot be read
}

func decode(rows []Row) []entry {
	entries := make([]entry, len(rows))
	for i, row := range rows {
		messages, err := DecodeRow(row.Payload)
		entries[i] = entry{Row: row, messages: messages, err: err}
	}
	return entries
}

// verdict is what follows from publishing a page.
type verdict struct {
	done  []int64
	parks []Parking
	// failed is the first row that has to be published again; it and all behind it
	// are not in done and parks. Nil when there is none.
	failed *entry
	cause  error
	// returned tells that nothing but returned messages keeps failed back.
	returned bool
}

// judge decides about the rows of a page, given one error per message in the
// order of the page. hopeless tells whether a row that only returned messages
// keep back should be put aside.
func judge(page []entry, errs []error, hopeless func(row *entry, left []Message) bool) verdict {
	var v verdict
	for i := range page {
		row := &page[i]
		if row.err != nil {
			v.parks = append(v.parks, Parking{ID: row.ID, Reason: row.err.Error()})
			continue
		}
		own := errs[:len(row.messages)]
		errs = errs[len(row.messages):]
		left, returned, cause := remaining(row.messages, own)
		switch {
		case cause == nil:
			v.done = append(v.done, row.ID)
		case returned && hopeless(row, left):
			v.parks = append(v.parks, park(row, left, cause))
		default:
			v.failed, v.cause, v.returned = row, cause, returned
			return v
		}
	}
	return v
}

// remaining lists the messages that were not taken, and whether all of them were
// returned.
func remaining(messages []Message, errs []error) (left []Message, returned bool, cause error) {
	returned = true
	for i, err := range errs {
		if err == nil {
			continue
		}
		left = append(left, messages[i])
		isReturned := errors.Is(err, ErrReturned)
		if cause == nil || returned && !isReturned {
			cause = fmt.Errorf("publish %q to exchange %q, key %q: %w", messages[i].ID, messages[i].Exchange, messages[i].Key, err)
		}
		returned = returned && isReturned
	}
	return left, returned && cause != nil, cause
}

func park(row *entry, left []Message, cause error) Parking {
	p := Parking{ID: row.ID, Reason: cause.Error()}
	if len(left) == len(row.messages) {
		return p
	}
	// Parked rows are published again and again: only what is left of them. If it
	// cannot be rendered, the whole row again is still right.
	if payload, err := EncodeRow(left); err == nil {
		p.Payload = payload
	}
	return p
}

const maxDeadRoutes = 1024

// route is where a message goes, as far as the broker decides whether it can.
type route struct{ exchange, key, delayQueue string }

func routeOf(m *Message) route { return route{m.Exchange, m.Key, m.DelayQueue} }

// deadRoutes remembers, for a while, routes that were found to lead nowhere, so
// that not every row with such a message holds its shard up anew.
type deadRoutes map[route]time.Time

func (d deadRoutes) add(messages []Message, now, until time.Time) {
	for r, end := range d {
		if !end.After(now) {
			delete(d, r)
		}
	}
	for i := range messages {
		if len(d) < maxDeadRoutes {
			d[routeOf(&messages[i])] = until
		}
	}
}

func (d deadRoutes) haveAll(messages []Message, now time.Time) bool {
	for i := range messages {
		if !d[routeOf(&messages[i])].After(now) {
			return false
		}
	}
	return true
}

// remove forgets the routes of messages that were taken.
func (d deadRoutes) remove(messages []Message, errs []error) {
	for i := range messages {
		if len(d) == 0 {
			return
		}
		if errs[i] == nil {
			delete(d, routeOf(&messages[i]))
		}
	}
}
