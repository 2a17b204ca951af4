package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/messages"
)

// Prediction is what would come of replaying a letter now.
type Prediction struct {
	ID        string             `json:"id"`
	MessageID string             `json:"messageId"`
	Type      string             `json:"type"`
	Verdict   deadletter.Verdict `json:"verdict"`
	Detail    string             `json:"detail,omitempty"`
}

// Forecast counts the predictions of a dry run.
type Forecast struct {
	Letters  int64                        `json:"letters"`
	Verdicts map[deadletter.Verdict]int64 `json:"verdicts"`
}

// DryRun is what is to be predicted.
type DryRun struct {
	Filter deadletter.Filter
	// Max bounds how many letters are looked at; 0: no bound.
	Max int64
	// InboxDays is how many days back the daemons remember messages by id.
	InboxDays int
	// ReplyQueues are what the names of queues begin with that the daemons answer to.
	ReplyQueues []string
}

// PredictReplay tells for each letter what would come of replaying it now, by having it
// decided on the rows as they are and taking everything back. Letters of one page are
// decided behind each other, as a replay would. Nothing is written.
func (d *Database) PredictReplay(ctx context.Context, run DryRun, visit func(Prediction) error) (Forecast, error) {
	forecast := Forecast{Verdicts: map[deadletter.Verdict]int64{}}
	now, err := d.store.Now(ctx)
	if err != nil {
		return forecast, err
	}
	firstDay := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -run.InboxDays)
	reader := newLetterReader(run.ReplyQueues)
	err = d.eachLetter(ctx, run.Filter, func(letters []deadletter.Letter) error {
		if run.Max > 0 {
			letters = letters[:min(int64(len(letters)), run.Max-forecast.Letters)]
		}
		if len(letters) == 0 {
			return errEnough
		}
		predictions, err := d.predict(ctx, reader, letters, firstDay)
		if err != nil {
			return err
		}
		for _, p := range predictions {
			forecast.Letters++
			forecast.Verdicts[p.Verdict]++
			if err := visit(p); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return forecast, err
}

// errEnough ends a walk before its end.
var errEnough = errors.New("enough")

// candidate is a letter that can be read.
type candidate struct {
	at       int // index of its prediction
	requests []coupon.Request
	// remembered says that the inbox knows messages of its time.
	remembered bool
}

func (d *Database) predict(
	ctx context.Context, reader letterReader, letters []deadletter.Letter, firstDay time.Time,
) ([]Prediction, error) {
	predictions := make([]Prediction, len(letters))
	var candidates []candidate
	for i := range letters {
		l := &letters[i]
		predictions[i] = Prediction{ID: l.ID, MessageID: l.MessageID, Type: l.Type, Verdict: deadletter.StillMalformed}
		requests, err := reader.requests(l)
		if err != nil {
			predictions[i].unreadable(l, err)
			continue
		}
		c := candidate{at: i, requests: requests, remembered: true}
		for j := range requests {
			if requests[j].Key == "" && requests[j].ID != "" && requests[j].At.Before(firstDay) {
				c.remembered = false
			}
		}
		candidates = append(candidates, c)
	}
	return predictions, d.decideAll(ctx, candidates, predictions)
}

// unreadable predicts what comes of a letter that is not even sent.
func (p *Prediction) unreadable(l *deadletter.Letter, cause error) {
	code, applied := l.AppliedBefore()
	switch {
	case applied:
		p.Verdict, p.Detail = deadletter.WouldRepeat, string(code)
	case errors.Is(cause, deadletter.ErrRedacted):
		p.Verdict, p.Detail = deadletter.NeedsSender, cause.Error()
	default:
		p.Detail = cause.Error()
	}
}

// letterReader reads letters as a worker does.
type letterReader struct {
	table       map[string]handlers.Translate
	replyQueues []string
}

func newLetterReader(replyQueues []string) letterReader {
	return letterReader{handlers.Table(), replyQueues}
}

// requests gives the requests of a letter, and says why a worker would not get as far.
func (r letterReader) requests(l *deadletter.Letter) ([]coupon.Request, error) {
	if err := l.Sendable(); err != nil {
		return nil, err
	}
	envelope, err := messages.Parse(l.Delivery())
	if err != nil {
		return nil, err
	}
	translate := r.table[envelope.Type]
	if translate == nil {
		return nil, fmt.Errorf("this version does not consume %s", envelope.Type)
	}
	if err := amqp.CheckReplyQueue(envelope.ReplyTo, r.replyQueues); err != nil {
		return nil, err
	}
	return translate(envelope)
}

// decideAll judges candidates together and, when that cannot be done, each alone.
func (d *Database) decideAll(ctx context.Context, candidates []candidate, predictions []Prediction) error {
	if len(candidates) == 0 {
		return nil
	}
	err := d.decide(ctx, candidates, predictions)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if len(candidates) == 1 {
		p := &predictions[candidates[0].at]
		p.Verdict, p.Detail = deadletter.StillFails, err.Error()
		// Whoever cannot reach the database at all has no prediction.
		_, err := d.store.Ping(ctx)
		return err
	}
	half := len(candidates) / 2
	if err := d.decideAll(ctx, candidates[:half], predictions); err != nil {
		return err
	}
	return d.decideAll(ctx, candidates[half:], predictions)
}

func (d *Database) decide(ctx context.Context, candidates []candidate, predictions []Prediction) error {
	var requests []coupon.Request
	for _, c := range candidates {
		requests = append(requests, c.requests...)
	}
	var failed error
	err := d.store.Preview(ctx, requests, func(world *coupon.World) {
		defer func() {
			if left := recover(); left != nil {
				failed = fmt.Errorf("deciding ends in a panic: %v", left)
			}
		}()
		for _, c := range candidates {
			outcomes := make([]coupon.Outcome, len(c.requests))
			for i := range c.requests {
				outcomes[i] = coupon.Decide(world, &c.requests[i])
			}
			p := &predictions[c.at]
			p.Verdict, p.Detail = deadletter.Judge(outcomes, c.remembered)
		}
	})
	if err != nil {
		return err
	}
	return failed
}
