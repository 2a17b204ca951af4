package console

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"couponlease/handlers"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/messages"
)

// Order is a command that a person gives by hand. It is the message that an upstream
// service would send, asked of the engine without the broker: the same key with the
// same content gets the first answer, whichever way it came.
type Order struct {
	// Key is the idempotency key; Actor who gives the command and Reason why, for the
	// audit log. Reason may be "" where nothing is taken from anybody.
	Key, Actor, Reason string
	// Shards is the number of outbox shards that the daemons serve.
	Shards int
	// Message gives the command under the head that it gets.
	Message func(messages.CommandHead) messages.Message
}

// Carry has an order carried out, and writes it into the audit log in the same
// transaction. A refusal is a result and not an error; what cannot be read as a command
// is an ErrUsage.
func (d *Database) Carry(ctx context.Context, order Order) (CommandResult, error) {
	if err := checkWords(order.Actor, order.Reason); err != nil {
		return CommandResult{}, err
	}
	// The database's time: this machine's clock may be wrong.
	now, err := d.store.Now(ctx)
	if err != nil {
		return CommandResult{}, err
	}
	request, err := order.request(now)
	if err != nil {
		return CommandResult{}, Usage(err)
	}
	return d.carry(ctx, request, order.Shards)
}

// carry asks the engine, without the broker.
func (d *Database) carry(ctx context.Context, request coupon.Request, shards int) (CommandResult, error) {
	outcome, err := d.answer(ctx, request, shards)
	if err != nil {
		return CommandResult{}, err
	}
	return d.result(outcome), nil
}

// answer gives the engine's own answer.
func (d *Database) answer(ctx context.Context, request coupon.Request, shards int) (coupon.Outcome, error) {
	encode := func(changes *coupon.Changes) ([]coupon.OutboxRow, error) {
		return handlers.Outbox(changes, shards)
	}
	var outcome coupon.Outcome
	err := d.withEngine(encode, func(e *engine.Engine) (err error) {
		outcome, err = e.Submit(ctx, request)
		return err
	})
	if err != nil {
		return coupon.Outcome{}, fmt.Errorf("no answer (repeat the command with --key %s, it is done once): %w",
			request.Key, err)
	}
	return outcome, nil
}

// request translates the command as a worker does.
func (o Order) request(now time.Time) (coupon.Request, error) {
	m := o.Message(messages.CommandHead{IdempotencyKey: o.Key, OccurredAt: now})
	body, properties, err := messages.Encode(o.Key, "", m)
	if err != nil {
		return coupon.Request{}, err
	}
	envelope, err := messages.Parse(properties.Delivery(body))
	if err != nil {
		return coupon.Request{}, err
	}
	requests, err := handlers.Table()[envelope.Type](envelope)
	if err != nil {
		return coupon.Request{}, err
	}
	shown, ok := messages.RedactTokens(body)
	if !ok {
		return coupon.Request{}, fmt.Errorf("%s cannot be written into the audit log", envelope.Type)
	}
	request := requests[0]
	request.Actor = o.Actor
	request.Audit = &coupon.Audit{Reason: o.Reason, Arguments: json.RawMessage(shown)}
	return request, nil
}

// CommandResult is what a command was answered.
type CommandResult struct {
	Command string `json:"command"`
	Key     string `json:"idempotencyKey"`
	// Repeated says that the command was answered before, at AnsweredAt, and that this
	// is that answer: the coupon may be another now.
	Repeated   bool      `json:"repeated"`
	AnsweredAt time.Time `json:"answeredAt"`
	// Accepted says that what was asked for is so; otherwise nothing was changed.
	Accepted bool          `json:"accepted"`
	Outcome  coupon.Code   `json:"outcome"`
	Refusals []RefusalView `json:"refusals,omitempty"`
	CouponID string        `json:"couponId,omitempty"`
	OrderID  string        `json:"orderId,omitempty"`
	// State, Version and the lease are what the command left.
	State     coupon.State `json:"state,omitempty"`
	Version   int64        `json:"stateVersion,omitempty"`
	LeaseID   string       `json:"leaseId,omitempty"`
	Deadline  time.Time    `json:"deadline,omitzero"`
	Operation string       `json:"operationId,omitempty"`
	// LeaseToken is the secret that proves who owns the lease that the command got.
	LeaseToken messages.Token `json:"leaseToken,omitempty"`
	// Next says what to do now; "" when nothing is left to say.
	Next string `json:"next,omitempty"`
}

// Refused says that nothing was done.
func (r CommandResult) Refused() bool { return !r.Accepted }

// RefusalView is why one coupon of a swap could not be had or given up.
type RefusalView struct {
	CouponID string      `json:"couponId"`
	Code     coupon.Code `json:"code"`
	Next     string      `json:"next,omitempty"`
}

func (d *Database) result(outcome coupon.Outcome) CommandResult {
	a := outcome.Answer
	r := CommandResult{
		Command: a.Kind, Key: a.Key, Repeated: outcome.Status == coupon.Repeated, AnsweredAt: a.Done,
		Accepted: a.Status != coupon.Refused, Outcome: a.Code, CouponID: a.Coupon, OrderID: a.Order,
		State: a.State, Version: a.Version, LeaseID: a.LeaseID, Deadline: a.Deadline, Operation: a.Operation,
	}
	if !r.Accepted {
		r.Next = hint(a.Kind, a.Code)
	}
	for _, refusal := range a.Refusals {
		r.Refusals = append(r.Refusals, RefusalView{refusal.Coupon, refusal.Code, hint(a.Kind, refusal.Code)})
	}
	if a.Token != nil {
		d.showToken(&r, *a.Token)
	}
	return r
}

// showToken gives the asker the token of the lease, which is stored nowhere: it is made
// from its key again.
func (d *Database) showToken(r *CommandResult, hash coupon.TokenHash) {
	token, known := d.keys.Secret(r.LeaseID, hash)
	switch {
	case !known:
		r.Next = "the token cannot be made again, because its key is not among COUPONLEASE_TOKEN_KEYS: " +
			"set the keys that the first command had, or wait until the lease lapses"
	case d.keysAreRandom:
		r.Next = "keep the token now: nothing can show it again, because COUPONLEASE_TOKEN_KEYS is not set"
	default:
		r.Next = "keep the token: only this command with the same key shows it again"
	}
	r.LeaseToken = token
}

// OperationOf gives the id of the operation that brought a coupon to a version. A
// version that the coupon never had is an ErrUsage.
func (d *Database) OperationOf(ctx context.Context, code string, version int64) (string, error) {
	history, found, err := d.store.History(ctx, coupon.Fold(code))
	if err != nil {
		return "", err
	}
	if !found {
		return "", Usage(fmt.Errorf("there is no coupon %q", code))
	}
	for i := range history.Operations {
		if history.Operations[i].To == version {
			return history.Operations[i].ID, nil
		}
	}
	return "", Usage(fmt.Errorf("coupon %s never had version %d: `couponctl timeline %s` shows its versions",
		history.Coupon.Code, version, history.Coupon.Code))
}
