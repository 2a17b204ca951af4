package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
)

// MaxDeadPage bounds how many dead letters, groups or jobs one page has.
const MaxDeadPage = 1000

// maxFailures bounds how many failures of one letter are shown.
const maxFailures = 100

// deadError says in this package's terms what the letters or jobs say.
func deadError(err error) error {
	switch {
	case errors.Is(err, deadletter.ErrConflict):
		return &conflictError{err.Error()}
	case errors.Is(err, deadletter.ErrNotFound):
		return Usage(err)
	default:
		return err
	}
}

func checkPage(limit int) error {
	if limit < 1 || limit > MaxDeadPage {
		return Usage(fmt.Errorf("a page of %d: choose 1 to %d", limit, MaxDeadPage))
	}
	return nil
}

// DeadLetter is one letter as it is shown.
type DeadLetter struct {
	ID        string             `json:"id"`
	MessageID string             `json:"messageId"`
	Type      string             `json:"type"`
	Queue     string             `json:"queue"`
	Status    deadletter.Status  `json:"status"`
	Outcome   deadletter.Outcome `json:"outcome,omitempty"`
	Reason    string             `json:"reason"`
	// Error is cut short in lists.
	Error    string    `json:"error"`
	Group    string    `json:"group"`
	Attempts int64     `json:"attempts"`
	Failures int64     `json:"failures"`
	First    time.Time `json:"firstFailedAt"`
	Last     time.Time `json:"lastFailedAt"`
	Filed    time.Time `json:"filedAt"`
	Order    string    `json:"orderId,omitempty"`
	Coupons  []string  `json:"coupons,omitempty"`
	Host     string    `json:"host,omitempty"`
	Version  string    `json:"version,omitempty"`
	Note     string    `json:"note,omitempty"`
	Edited   string    `json:"editedFrom,omitempty"`
	Job      string    `json:"job,omitempty"`
	// Redacted letters are kept without their lease token and cannot be replayed.
	Redacted bool `json:"redacted,omitempty"`
}

func deadLetter(l *deadletter.Letter) DeadLetter {
	return DeadLetter{
		ID: l.ID, MessageID: l.MessageID, Type: l.Type, Queue: l.Queue, Status: l.Status, Outcome: l.Outcome,
		Reason: l.Reason, Error: l.Error, Group: l.Fingerprint, Attempts: l.Attempts, Failures: l.Failures,
		First: l.First, Last: l.Last, Filed: l.Filed, Order: l.Order, Coupons: l.Coupons, Host: l.Host,
		Version: l.Version, Note: l.Note, Edited: l.EditedFrom, Job: l.Job, Redacted: l.Redacted,
	}
}

// DeadPage is a page of letters, newest first.
type DeadPage struct {
	Letters []DeadLetter `json:"letters"`
	// Next is where the next page begins; "" when there is none.
	Next string `json:"next,omitempty"`
}

// DeadLetters lists letters that were filed before the one with an id, or all for "".
func (d *Database) DeadLetters(ctx context.Context, f deadletter.Filter, before string, limit int) (DeadPage, error) {
	page := DeadPage{Letters: []DeadLetter{}}
	if err := checkPage(limit); err != nil {
		return page, err
	}
	letters, err := d.store.Letters(ctx, f, before, limit+1)
	if err != nil {
		return page, err
	}
	if len(letters) > limit {
		letters = letters[:limit]
		page.Next = letters[limit-1].ID
	}
	for i := range letters {
		page.Letters = append(page.Letters, deadLetter(&letters[i]))
	}
	return page, nil
}

// DeadGroups is what the letters have in common.
type DeadGroups struct {
	Groups []DeadGroup `json:"groups"`
}

// DeadGroup is all letters with one cause.
type DeadGroup struct {
	Group   string    `json:"group"`
	Letters int64     `json:"letters"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Error   string    `json:"error"`
	Sample  string    `json:"sample"`
	First   time.Time `json:"firstFailedAt"`
	Last    time.Time `json:"lastFailedAt"`
}

// DeadGroups gives the groups with most letters.
func (d *Database) DeadGroups(ctx context.Context, f deadletter.Filter, limit int) (DeadGroups, error) {
	result := DeadGroups{Groups: []DeadGroup{}}
	if err := checkPage(limit); err != nil {
		return result, err
	}
	groups, err := d.store.LetterGroups(ctx, f, limit)
	for _, g := range groups {
		result.Groups = append(result.Groups, DeadGroup{
			Group: g.Fingerprint, Letters: g.Letters, Type: g.Type, Reason: g.Reason, Error: g.Error, Sample: g.Sample,
			First: g.First, Last: g.Last,
		})
	}
	return result, err
}

// DeadStats counts letters.
type DeadStats struct {
	Letters int64       `json:"letters"`
	Counts  []DeadCount `json:"counts"`
}

// DeadCount is how many letters there are of one kind.
type DeadCount struct {
	Status  deadletter.Status `json:"status"`
	Type    string            `json:"type"`
	Reason  string            `json:"reason"`
	Letters int64             `json:"letters"`
	Oldest  time.Time         `json:"oldestFailedAt"`
	Last    time.Time         `json:"lastFailedAt"`
}

// DeadStats counts letters by status, type and reason.
func (d *Database) DeadStats(ctx context.Context, f deadletter.Filter) (DeadStats, error) {
	result := DeadStats{Counts: []DeadCount{}}
	counts, err := d.store.LetterCounts(ctx, f)
	for _, c := range counts {
		result.Letters += c.Letters
		result.Counts = append(result.Counts, DeadCount{
			Status: c.Status, Type: c.Type, Reason: c.Reason, Letters: c.Letters, Oldest: c.Oldest, Last: c.LastFailed,
		})
	}
	return result, err
}

// DeadView is a letter with everything.
type DeadView struct {
	DeadLetter
	Exchange      string            `json:"exchange"`
	RoutingKey    string            `json:"routingKey"`
	ContentType   string            `json:"contentType,omitempty"`
	CorrelationID string            `json:"correlationId,omitempty"`
	ReplyTo       string            `json:"replyTo,omitempty"`
	Sent          time.Time         `json:"sentAt,omitzero"`
	Headers       map[string]string `json:"headers"`
	BodySize      int64             `json:"bodySize"`
	// Body is the body if it is JSON, and BodyText any other one: as text, or in
	// base64 if it is none. Neither holds lease tokens.
	Body     json.RawMessage `json:"body,omitempty"`
	BodyText []byte          `json:"bodyBase64,omitempty"`
	Failed   []DeadFailure   `json:"history"`
	// Answered: Redacted, and applied all the same; a replay resolves it.
	Answered bool `json:"answered,omitempty"`
}

// DeadFailure is one failure of a letter.
type DeadFailure struct {
	At       time.Time `json:"at"`
	Reason   string    `json:"reason"`
	Error    string    `json:"error"`
	Attempts int64     `json:"attempts"`
	Host     string    `json:"host,omitempty"`
	Version  string    `json:"version,omitempty"`
	Job      string    `json:"job,omitempty"`
}

func deadView(l *deadletter.Letter) DeadView {
	v := DeadView{
		DeadLetter: deadLetter(l), Exchange: l.Exchange, RoutingKey: l.RoutingKey, ContentType: l.ContentType,
		CorrelationID: l.CorrelationID, ReplyTo: l.ReplyTo, Sent: l.Sent, Headers: l.Headers, BodySize: l.Size,
		Failed: []DeadFailure{},
	}
	_, v.Answered = l.AppliedBefore()
	if json.Valid(l.Body) {
		v.Body = l.Body
	} else {
		v.BodyText = l.Body
	}
	return v
}

// DeadLetter gives a letter with everything, the first failures of its history included.
func (d *Database) DeadLetter(ctx context.Context, id string) (DeadView, error) {
	letter, attempts, err := d.store.Letter(ctx, id, maxFailures)
	if err != nil {
		return DeadView{}, deadError(err)
	}
	v := deadView(&letter)
	for _, a := range attempts {
		v.Failed = append(v.Failed, DeadFailure{
			At: a.Failed, Reason: a.Reason, Error: a.Error, Attempts: a.Attempts, Host: a.Host, Version: a.Version, Job: a.Job,
		})
	}
	return v, nil
}

// readAtOnce is how many letters are in memory during a walk.
const readAtOnce = 100

// eachLetter visits letters in the order of filing, page by page, in memory that does not
// grow with their number.
func (d *Database) eachLetter(ctx context.Context, f deadletter.Filter, visit func([]deadletter.Letter) error) error {
	for after := ""; ; {
		letters, err := d.store.WholeLetters(ctx, f, after, readAtOnce)
		if err != nil || len(letters) == 0 {
			return err
		}
		if err := visit(letters); err != nil {
			return err
		}
		after = letters[len(letters)-1].ID
	}
}

// ExportDead writes letters with everything but their history, one JSON object a line,
// and tells how many.
func (d *Database) ExportDead(ctx context.Context, f deadletter.Filter, to io.Writer) (count int64, err error) {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	err = d.eachLetter(ctx, f, func(letters []deadletter.Letter) error {
		for i := range letters {
			if err := encoder.Encode(deadView(&letters[i])); err != nil {
				return fmt.Errorf("write dead letter %s: %w", letters[i].ID, err)
			}
			count++
		}
		return nil
	})
	return count, err
}

// DeadChange is what a command did to letters.
type DeadChange struct {
	Letters int64             `json:"letters"`
	Status  deadletter.Status `json:"status"`
}

// DiscardDead marks new letters as not to be applied.
func (d *Database) DiscardDead(ctx context.Context, f deadletter.Filter, by deadletter.Decision) (DeadChange, error) {
	count, err := d.store.MarkLetters(ctx, "DiscardDeadLetters", f, []deadletter.Status{deadletter.New},
		deadletter.Discarded, "", by)
	return DeadChange{count, deadletter.Discarded}, deadError(err)
}

// RestoreDead takes discarding back, and editing if the corrected letter was discarded.
func (d *Database) RestoreDead(ctx context.Context, f deadletter.Filter, by deadletter.Decision) (DeadChange, error) {
	count, err := d.store.MarkLetters(ctx, "RestoreDeadLetters", f,
		[]deadletter.Status{deadletter.Discarded, deadletter.Edited}, deadletter.New, "", by)
	return DeadChange{count, deadletter.New}, deadError(err)
}

// NoteDead replaces the note on a letter.
func (d *Database) NoteDead(ctx context.Context, id, note string, by deadletter.Decision) error {
	const most = 4096
	if len(note) > most {
		return Usage(fmt.Errorf("a note of %d bytes: at most %d", len(note), most))
	}
	return deadError(d.store.NoteLetter(ctx, id, note, by))
}

// DeadCoupon gives the id by which letters about a coupon are found.
func DeadCoupon(code string) string { return coupon.Fold(code) }
