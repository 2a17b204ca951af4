package console

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/engine"
)

const (
	// importChunk is how many rows are asked of the engine at once.
	importChunk = 2048
	// maxTemplates bounds how many templates one file may name.
	maxTemplates = 1000
)

// ImportOptions say how a file of coupons is read.
type ImportOptions struct {
	// Format is how the file is written; "" is CSV.
	Format FileFormat
	// Template is taken by rows that name none.
	Template string
	// Define gives the limits of templates that do not exist yet; nil makes a row
	// that names one a bad row.
	Define *coupon.Template
	// DryRun changes nothing and tells what would happen.
	DryRun bool
	// Zone is where plain dates count; nil is UTC.
	Zone *time.Location
	// Actor is who the ledger and the audit log say has asked, Reason why, File what the
	// audit log calls the file.
	Actor, Reason, File string
	// KeepBad bounds how many bad rows the report lists.
	KeepBad int
	// Progress is told how many rows have been dealt with; nil tells nobody.
	Progress func(rows int)
}

// fingerprint stands for a code in memory: a million of them have to fit.
type fingerprint [16]byte

func fingerprintOf(code string) fingerprint {
	sum := sha256.Sum256([]byte(code))
	return fingerprint(sum[:16])
}

// importRun is one import under way.
type importRun struct {
	options ImportOptions
	engine  *engine.Engine
	reader  couponReader
	file    *couponFile
	report  ImportReport

	// seen holds the folded codes of the file so far, and the code as written
	// when that differs.
	seen      map[fingerprint]fingerprint
	templates map[string]bool
	pending   []importRow
}

type importRow struct {
	line int
	fact coupon.ImportCoupon
}

// couponReader is what an import asks of the store.
type couponReader interface {
	// Codes gives, for the ids that are coupons, the code as it was issued.
	Codes(ctx context.Context, ids []string) (map[string]string, error)
	// Template gives a template by id.
	Template(ctx context.Context, id string) (coupon.Template, bool, error)
}

// run reads the whole file. When it is interrupted, the report tells how far it
// came; the same file may be imported again.
func (r *importRun) run(ctx context.Context) error {
	return eachRow(ctx, r, r.file.coupon, func(fact coupon.ImportCoupon, line int) error {
		return r.take(ctx, importRow{line, fact})
	})
}

func (r *importRun) row() { r.report.Rows++ }

// take judges one row as far as the file allows, and asks the engine when there
// are enough of them.
func (r *importRun) take(ctx context.Context, row importRow) error {
	if row.fact.Template == "" {
		row.fact.Template = r.options.Template
	}
	if row.fact.Template == "" {
		r.bad(row.line, "no template: name one in the row, or with --template")
		return nil
	}
	known, err := r.template(ctx, row.fact.Template)
	if err != nil {
		return err
	}
	if !known {
		r.bad(row.line, fmt.Sprintf("template %s does not exist: --define-template creates it", row.fact.Template))
		return nil
	}
	folded, exact := fingerprintOf(coupon.Fold(row.fact.Code)), fingerprintOf(row.fact.Code)
	if earlier, twice := r.seen[folded]; twice {
		if earlier == exact {
			r.report.SkippedInFile++
		} else {
			r.report.SkippedLetterCase++
		}
		return nil
	}
	r.seen[folded] = exact
	r.pending = append(r.pending, row)
	if len(r.pending) < importChunk {
		return nil
	}
	return r.flush(ctx)
}

// template says whether a template is there, creating it if that was asked for.
func (r *importRun) template(ctx context.Context, id string) (bool, error) {
	if known, asked := r.templates[id]; asked {
		return known, nil
	}
	if len(r.templates) >= maxTemplates {
		return false, Usage(fmt.Errorf("the file names more than %d templates: split it", maxTemplates))
	}
	existing, known, err := r.reader.Template(ctx, id)
	if err != nil {
		return false, fmt.Errorf("look for template %s: %w", id, err)
	}
	if r.options.Define != nil {
		wanted := *r.options.Define
		wanted.ID = id
		if known {
			err = sameLimits(existing, wanted)
		} else {
			err = r.define(ctx, wanted)
		}
		if err != nil {
			return false, err
		}
		known = true
	}
	r.templates[id] = known
	return known, nil
}

func (r *importRun) define(ctx context.Context, template coupon.Template) error {
	r.report.TemplatesDefined = append(r.report.TemplatesDefined, template.ID)
	if r.options.DryRun {
		return nil
	}
	// No time: nothing happened anywhere else, and this clock may be wrong.
	_, err := r.engine.Submit(ctx, coupon.Request{
		Actor: r.options.Actor, Fact: coupon.DefineTemplate{Template: template},
	})
	if err != nil {
		return fmt.Errorf("define template %s: %w", template.ID, err)
	}
	return nil
}

// sameLimits refuses to import under limits other than those asked for.
func sameLimits(existing, wanted coupon.Template) error {
	if existing.Budget == wanted.Budget && existing.UsesPerPerson == wanted.UsesPerPerson &&
		existing.ValidDays == wanted.ValidDays && existing.Transferable == wanted.Transferable {
		return nil
	}
	return &conflictError{fmt.Sprintf("template %s exists with other limits (%s) than those asked for (%s): "+
		"leave out --define-template to import under the existing ones", existing.ID, limits(existing), limits(wanted))}
}

func limits(t coupon.Template) string {
	shown := func(n int64) string {
		if n == coupon.NoLimit {
			return "none"
		}
		return thousands(n)
	}
	return fmt.Sprintf("budget %s, uses per person %s, valid days %d, transferable %t",
		shown(t.Budget), shown(t.UsesPerPerson), t.ValidDays, t.Transferable)
}

// flush asks the engine for the rows that wait, and counts its answers.
func (r *importRun) flush(ctx context.Context) error {
	rows := r.pending
	r.pending = r.pending[:0]
	if len(rows) == 0 {
		return nil
	}
	known, err := r.existing(ctx, rows)
	if err != nil {
		return err
	}
	requests, places := make([]coupon.Request, 0, len(rows)), make([]int, 0, len(rows))
	for i := range rows {
		code, exists := known[coupon.Fold(rows[i].fact.Code)]
		switch {
		case exists && code == rows[i].fact.Code:
			r.report.SkippedInDatabase++
		case exists:
			r.report.SkippedLetterCase++
		case r.options.DryRun:
			r.report.Created++
		default:
			requests = append(requests, coupon.Request{Actor: r.options.Actor, Fact: rows[i].fact})
			places = append(places, i)
		}
	}
	if err := r.submit(ctx, requests, places, rows); err != nil {
		return err
	}
	if r.options.Progress != nil {
		r.options.Progress(r.report.Rows)
	}
	return nil
}

func (r *importRun) submit(ctx context.Context, requests []coupon.Request, places []int, rows []importRow) error {
	if len(requests) == 0 {
		return nil
	}
	outcomes, errs := r.engine.SubmitAll(ctx, requests)
	for i, place := range places {
		switch line, err := rows[place].line, errs[i]; {
		case err != nil && ctx.Err() != nil:
			return r.interrupted(ctx.Err())
		case err != nil:
			return fmt.Errorf("line %d: %w", line, err)
		case outcomes[i].Status == coupon.Dead:
			r.bad(line, outcomes[i].Detail)
		case outcomes[i].Code == coupon.Created:
			r.report.Created++
		default: // somebody else imported it between our look and our request
			r.report.SkippedInDatabase++
		}
	}
	return nil
}

func (r *importRun) existing(ctx context.Context, rows []importRow) (map[string]string, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = coupon.Fold(rows[i].fact.Code)
	}
	known, err := r.reader.Codes(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look for known codes: %w", err)
	}
	return known, nil
}

func (r *importRun) bad(line int, reason string) {
	if r.report.Bad++; len(r.report.BadRows) < r.options.KeepBad {
		r.report.BadRows = append(r.report.BadRows, BadRow{line, reason})
	}
}

func (r *importRun) interrupted(cause error) error {
	return fmt.Errorf("after %s, %s created: import the same file again to go on: %w",
		count(r.report.Rows, "row"), thousands(int64(r.report.Created)), cause)
}
