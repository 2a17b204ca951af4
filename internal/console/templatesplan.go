package console

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"couponlease/handlers"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
)

// applyChunk is how many templates are asked for in one transaction.
const applyChunk = 100

// PlanAction is what a template of a file needs.
type PlanAction string

// The actions.
const (
	PlanCreate    PlanAction = "create"
	PlanEdit      PlanAction = "edit"
	PlanUnchanged PlanAction = "unchanged"
)

// TemplatePlan is what applying a file did, or in a dry run would do.
type TemplatePlan struct {
	DryRun bool `json:"dryRun"`
	// Steps are in the order of the file.
	Steps     []PlanStep `json:"templates"`
	Created   int        `json:"created"`
	Edited    int        `json:"edited"`
	Unchanged int        `json:"unchanged"`
	Refused   int        `json:"refused"`
	// Done says that the file was applied; otherwise nothing was changed, unless somebody
	// changed templates meanwhile.
	Done bool `json:"done"`
}

// PlanStep is what one template of a file needs, or got.
type PlanStep struct {
	Template string     `json:"template"`
	Line     int        `json:"line"`
	Action   PlanAction `json:"action"`
	// Changes tell term by term what is different.
	Changes []TermChange `json:"changes,omitempty"`
	// Outcome is the answer, in a dry run the one that there would be; Version is what
	// the command left.
	Outcome coupon.Code `json:"outcome,omitempty"`
	Version int64       `json:"version,omitempty"`
	Key     string      `json:"idempotencyKey,omitempty"`
	Next    string      `json:"next,omitempty"`

	order   TemplateOrder
	request coupon.Request
	refused bool
}

// ApplyOptions say who applies a file of templates.
type ApplyOptions struct {
	Actor, Reason string
	// Shards is the number of outbox shards that the daemons serve.
	Shards int
	// DryRun changes nothing and tells what would happen.
	DryRun bool
}

// ApplyTemplates makes templates what a file says they are: those that are not there are
// created, those that say something else edited, and no others touched. Before anything
// is asked the whole file is decided on the templates as they are; when one of them would
// be refused, nothing is changed.
func (d *Database) ApplyTemplates(
	ctx context.Context, documents []TemplateDocument, options ApplyOptions,
) (TemplatePlan, error) {
	plan := TemplatePlan{DryRun: options.DryRun, Steps: []PlanStep{}}
	if err := checkWords(options.Actor, options.Reason); err != nil {
		return plan, err
	}
	for chunk := range slices.Chunk(documents, applyChunk) {
		steps, err := d.plan(ctx, chunk, options)
		if err != nil {
			return plan, err
		}
		plan.Steps = append(plan.Steps, steps...)
	}
	plan.count()
	if options.DryRun || plan.Refused > 0 {
		return plan, nil
	}
	plan.Done = true
	for chunk := range slices.Chunk(plan.Steps, applyChunk) {
		if err := d.carryOut(ctx, chunk, options.Shards); err != nil {
			return plan, err
		}
	}
	plan.count()
	return plan, nil
}

func (p *TemplatePlan) count() {
	p.Created, p.Edited, p.Unchanged, p.Refused = 0, 0, 0, 0
	for i := range p.Steps {
		switch step := &p.Steps[i]; {
		case step.refused:
			p.Refused++
		case step.Action == PlanCreate:
			p.Created++
		case step.Action == PlanEdit:
			p.Edited++
		default:
			p.Unchanged++
		}
	}
}

// plan tells what templates need, and what they would be answered.
func (d *Database) plan(ctx context.Context, documents []TemplateDocument, options ApplyOptions) ([]PlanStep, error) {
	ids := make([]string, len(documents))
	for i := range documents {
		ids[i] = documents[i].Template
	}
	known, err := d.store.NamedTemplates(ctx, ids)
	if err != nil {
		return nil, err
	}
	now, err := d.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	steps := make([]PlanStep, len(documents))
	for i := range documents {
		if steps[i], err = documents[i].step(known[documents[i].Template]); err != nil {
			return nil, Usage(fmt.Errorf("line %d: template %s: %w", documents[i].line, documents[i].Template, err))
		}
		if steps[i].Action == PlanUnchanged {
			continue
		}
		step := &steps[i]
		step.order.Actor, step.order.Reason = options.Actor, options.Reason
		if step.request, err = step.order.request(now, step.request.Fact); err != nil {
			return nil, err
		}
	}
	return steps, d.predictSteps(ctx, steps, known)
}

// step tells what a template needs to be what the document says.
func (document TemplateDocument) step(now *coupon.Template) (PlanStep, error) {
	step := PlanStep{Template: document.Template, Line: document.line, Action: PlanUnchanged}
	var status coupon.TemplateStatus
	if now != nil {
		status, step.Version = now.Status, now.Version
	}
	wanted, err := document.whole(status)
	if err != nil {
		return step, err
	}
	key, err := uuid.NewV7()
	if err != nil {
		return step, fmt.Errorf("draw a key: %w", err)
	}
	step.order = TemplateOrder{Key: key.String(), Template: document.Template, Terms: document.TemplateTerms}
	switch {
	case now == nil:
		step.Action, step.Changes = PlanCreate, changedTerms(unlimited(), wanted)
		step.request.Fact = coupon.CreateTemplate{Template: document.Template, Terms: wanted}
	default:
		if step.Changes = changedTerms(now.Terms, wanted); len(step.Changes) == 0 {
			return step, nil
		}
		step.Action, step.order.ExpectedVersion = PlanEdit, now.Version
		step.request.Fact = coupon.EditTemplate{
			Template: document.Template, ExpectedVersion: now.Version, Set: wholeEdit(wanted),
		}
	}
	step.Key = step.order.Key
	return step, nil
}

// wholeEdit names every term.
func wholeEdit(t coupon.Terms) coupon.TermsEdit {
	return coupon.TermsEdit{
		Name: &t.Name, Discount: &t.Discount, Status: &t.Status, Total: &t.Total, PerPerson: &t.PerPerson,
		PerDay: &t.PerDay, Budget: &t.Budget, UsesPerPerson: &t.UsesPerPerson, PolicyVersion: &t.PolicyVersion,
		ValidFrom: &t.ValidFrom, ValidUntil: &t.ValidUntil, ValidDays: &t.ValidDays, Zone: &t.Zone,
		Transferable: &t.Transferable,
	}
}

// requests gives what has to be asked for the steps, and for which.
func requests(steps []PlanStep) (asked []coupon.Request, of []*PlanStep) {
	for i := range steps {
		if steps[i].Action != PlanUnchanged {
			asked, of = append(asked, steps[i].request), append(of, &steps[i])
		}
	}
	return asked, of
}

// predictSteps has the steps decided on the rows as they are and takes everything back.
func (d *Database) predictSteps(ctx context.Context, steps []PlanStep, known map[string]*coupon.Template) error {
	asked, of := requests(steps)
	if len(asked) == 0 {
		return nil
	}
	return d.store.Preview(ctx, asked, func(world *coupon.World) {
		for i := range asked {
			of[i].answered(coupon.Decide(world, &asked[i]), known[of[i].Template])
		}
		world.Seal()
	})
}

// carryOut asks for the steps, in one transaction.
func (d *Database) carryOut(ctx context.Context, steps []PlanStep, shards int) error {
	asked, of := requests(steps)
	if len(asked) == 0 {
		return nil
	}
	outcomes, err := d.answers(ctx, asked, shards)
	if err != nil {
		return fmt.Errorf("no answer (apply the file again, it is done once): %w", err)
	}
	known, err := d.store.NamedTemplates(ctx, templatesOf(of))
	if err != nil {
		return err
	}
	var edited []string
	for i := range outcomes {
		of[i].answered(outcomes[i], known[of[i].Template])
		if of[i].Action == PlanEdit && outcomes[i].Status == coupon.Applied {
			edited = append(edited, of[i].Template)
		}
	}
	d.restockAfterEdit(ctx, edited...)
	return nil
}

// answers asks for several things in one transaction.
func (d *Database) answers(ctx context.Context, asked []coupon.Request, shards int) (answers []coupon.Outcome, err error) {
	encode := func(changes *coupon.Changes) ([]coupon.OutboxRow, error) {
		return handlers.Outbox(changes, shards)
	}
	err = d.withEngine(encode, func(e *engine.Engine) error {
		var errs []error
		answers, errs = e.SubmitAll(ctx, asked)
		return errors.Join(errs...)
	})
	return answers, err
}

func templatesOf(steps []*PlanStep) []string {
	ids := make([]string, len(steps))
	for i, step := range steps {
		ids[i] = step.Template
	}
	return ids
}

// answered notes the answer to a step; now is the template as it is, nil without one.
func (s *PlanStep) answered(outcome coupon.Outcome, now *coupon.Template) {
	a := outcome.Answer
	s.Outcome, s.Version, s.refused, s.Next = a.Code, a.Version, a.Status == coupon.Refused, ""
	if s.refused {
		if now == nil {
			now = &coupon.Template{}
		}
		s.Next = templateHint(a.Kind, a.Code, now, s.order)
	}
}
