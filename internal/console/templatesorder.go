package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// TemplateOrder is a command about a template that a person gives by hand.
type TemplateOrder struct {
	// Key is the idempotency key; Actor who gives the command and Reason why, for the
	// audit log. Another actor or reason does not make it another command.
	Key, Actor, Reason string
	// Shards is the number of outbox shards that the daemons serve.
	Shards int
	// Template is the id.
	Template string
	// ExpectedVersion refuses an edit of another version; 0 is any.
	ExpectedVersion int64
	// Terms are those of a new template, or those that an edit changes.
	Terms TemplateTerms
}

// TemplateResult is what a command about a template was answered.
type TemplateResult struct {
	Command  string `json:"command"`
	Key      string `json:"idempotencyKey"`
	Template string `json:"template"`
	// Repeated says that the command was answered before, at AnsweredAt, and that this
	// is that answer: the template may be another now.
	Repeated   bool      `json:"repeated"`
	AnsweredAt time.Time `json:"answeredAt"`
	// Accepted says that what was asked for is so; otherwise nothing was changed.
	Accepted bool        `json:"accepted"`
	Outcome  coupon.Code `json:"outcome"`
	// Version is the one that the command left, or the one in its way; 0 when there is
	// no template.
	Version int64 `json:"version,omitempty"`
	// Changes tell what an edit changed, or what a new template says.
	Changes []TermChange `json:"changes"`
	// Next says what to do now; "" when nothing is left to say.
	Next string `json:"next,omitempty"`
}

// Refused says that nothing was done.
func (r TemplateResult) Refused() bool { return !r.Accepted }

// WriteText prints one property, or one changed term, a line.
func (r TemplateResult) WriteText(w io.Writer) error {
	out := lines{w: w}
	if r.Repeated {
		out.addf("repeated    a command with this key was answered at %s; this is that answer", clockTime(r.AnsweredAt))
	}
	switch {
	case !r.Accepted:
		out.addf("refused     %s %s; nothing was changed", r.Command, r.Outcome)
	case r.Outcome == coupon.Noop:
		out.addf("done        %s %s; nothing changed, it is so already", r.Command, r.Outcome)
	default:
		out.addf("done        %s %s", r.Command, r.Outcome)
	}
	version := ""
	if r.Version > 0 {
		version = ", version " + thousands(r.Version)
	}
	out.addf("template    %s%s", r.Template, version)
	for _, change := range r.Changes {
		out.addf("            %s", change)
	}
	out.addf("key         %s", r.Key)
	if r.Next != "" {
		out.addf("next        %s", r.Next)
	}
	return out.err
}

// CreateTemplate makes a new template. Impossible terms are an ErrUsage, a refusal is a
// result.
func (d *Database) CreateTemplate(ctx context.Context, order TemplateOrder) (TemplateResult, error) {
	if err := order.check(); err != nil {
		return TemplateResult{}, Usage(err)
	}
	terms, err := order.Terms.whole("")
	if err == nil {
		err = terms.Validate()
	}
	if err != nil {
		return TemplateResult{}, Usage(err)
	}
	return d.order(ctx, order, coupon.CreateTemplate{Template: order.Template, Terms: terms})
}

// EditTemplate changes the terms that the order names, and no others. Terms that are
// impossible together with those that stay are an ErrUsage, a refusal is a result.
func (d *Database) EditTemplate(ctx context.Context, order TemplateOrder) (TemplateResult, error) {
	if err := order.check(); err != nil {
		return TemplateResult{}, Usage(err)
	}
	if order.Terms == (TemplateTerms{}) {
		return TemplateResult{}, Usage(errors.New("name at least one term to change"))
	}
	now, found, err := d.store.Template(ctx, order.Template)
	if err != nil {
		return TemplateResult{}, err
	}
	if !found { // as the answer will say
		now.Terms = coupon.Unlimited()
	}
	edit := coupon.EditTemplate{Template: order.Template, ExpectedVersion: order.ExpectedVersion}
	if edit.Set, err = order.Terms.edit(now.Terms); err == nil && found {
		err = edit.Set.With(now.Terms).Validate()
	}
	if err != nil {
		return TemplateResult{}, Usage(err)
	}
	if edit.Set.Discount != nil || order.Terms.dependOnZone() {
		// They were put together with terms of the version that was read.
		edit.ExpectedVersion = cmp.Or(edit.ExpectedVersion, now.Version)
	}
	return d.order(ctx, order, edit)
}

// check says what cannot be a command.
func (o TemplateOrder) check() error {
	if err := errors.Join(checkWords(o.Actor, o.Reason), checkText("key", o.Key)); err != nil {
		return err
	}
	reserved := coupon.RedeemNumber("")
	switch {
	case o.Key == "":
		return errors.New("a command needs a key")
	case strings.HasPrefix(o.Key, reserved):
		return fmt.Errorf("key %s: keys that begin with %s are redeem numbers", o.Key, reserved)
	case o.ExpectedVersion < 0:
		return fmt.Errorf("expected version %d: versions begin at 1", o.ExpectedVersion)
	}
	return checkTemplateID(o.Template)
}

func checkTemplateID(id string) error {
	if id == "" || strings.TrimSpace(id) != id {
		return fmt.Errorf("%q is no id of a template: it has no white space around it, and something in it", id)
	}
	return checkText("id of a template", id)
}

// content is what makes two commands the same, and what the audit log keeps of them.
func (o TemplateOrder) content(command string) ([]byte, error) {
	content, err := json.Marshal(struct {
		Command         string        `json:"command"`
		Template        string        `json:"template"`
		ExpectedVersion int64         `json:"expectedVersion,omitempty"`
		Terms           TemplateTerms `json:"terms"`
	}{command, o.Template, o.ExpectedVersion, o.Terms})
	if err != nil {
		return nil, fmt.Errorf("write down what is asked: %w", err)
	}
	return content, nil
}

// request is how the engine is asked.
func (o TemplateOrder) request(now time.Time, fact coupon.Fact) (coupon.Request, error) {
	command := "EditTemplate"
	if _, creates := fact.(coupon.CreateTemplate); creates {
		command = "CreateTemplate"
	}
	content, err := o.content(command)
	if err != nil {
		return coupon.Request{}, err
	}
	return coupon.Request{
		ID: o.Key, Key: o.Key, Hash: sha256.Sum256(content), At: now, Actor: o.Actor,
		Audit: &coupon.Audit{Reason: o.Reason, Arguments: content}, Fact: fact,
	}, nil
}

// order has a command carried out and tells what it changed.
func (d *Database) order(ctx context.Context, o TemplateOrder, fact coupon.Fact) (TemplateResult, error) {
	now, err := d.store.Now(ctx)
	if err != nil {
		return TemplateResult{}, err
	}
	request, err := o.request(now, fact)
	if err != nil {
		return TemplateResult{}, err
	}
	outcome, err := d.answer(ctx, request, o.Shards)
	if err != nil {
		return TemplateResult{}, err
	}
	if _, edits := fact.(coupon.EditTemplate); edits && outcome.Status == coupon.Applied {
		d.restockAfterEdit(ctx, o.Template)
	}
	return d.templateResult(ctx, o, outcome)
}

// templateResult tells what an answer means. What was changed is read from the versions
// that the template had, so that it is what the command did and nobody else.
func (d *Database) templateResult(
	ctx context.Context, o TemplateOrder, outcome coupon.Outcome,
) (TemplateResult, error) {
	a := outcome.Answer
	r := TemplateResult{
		Command: a.Kind, Key: a.Key, Template: o.Template, Repeated: outcome.Status == coupon.Repeated, AnsweredAt: a.Done,
		Accepted: a.Status != coupon.Refused, Outcome: a.Code, Version: a.Version, Changes: []TermChange{},
	}
	switch a.Status {
	case coupon.Applied:
		edits, err := d.templateEdits(ctx, []string{o.Template}, []string{o.Key})
		if err != nil {
			return r, err
		}
		r.Changes = append(r.Changes, edits[editKey{o.Template, o.Key}]...)
	case coupon.Refused:
		t, _, err := d.store.Template(ctx, o.Template)
		if err != nil {
			return r, err
		}
		r.Next = templateHint(a.Kind, a.Code, &t, o)
	}
	return r, nil
}
