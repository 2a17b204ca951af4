package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"couponlease/handlers"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
)

// IssueChunk is how many people get their coupons in one transaction: all of them, or
// nobody when the campaign has less left.
const IssueChunk = 200

// IssueOptions say how a batch is issued to a list of people.
type IssueOptions struct {
	// Template is the campaign, Batch the name under which each person gets one coupon.
	Template, Batch string
	// Format is how the file is written; "" is CSV.
	Format FileFormat
	// DryRun changes nothing and tells what would happen.
	DryRun bool
	// Zone is where plain dates count; nil is UTC.
	Zone *time.Location
	// Actor is who the ledger and the audit log say has asked, Reason why, File what the
	// audit log calls the file.
	Actor, Reason, File string
	// KeepBad bounds how many bad rows the report lists.
	KeepBad int
	// Shards is the number of outbox shards that the daemons serve.
	Shards int
	// Progress is told how many rows have been dealt with; nil tells nobody.
	Progress func(rows int)
}

// issueRun is one batch under way.
type issueRun struct {
	options  IssueOptions
	file     *couponFile
	template coupon.Template
	report   IssueReport
	// ask has one chunk issued, or in a dry run decided and taken back.
	ask func(context.Context, coupon.Request) (coupon.Outcome, error)
	now func(context.Context) (time.Time, error)

	// persons holds the folded ids of the file so far, and each as it was written; codes
	// the folded codes.
	persons map[fingerprint]fingerprint
	codes   map[fingerprint]bool
	pending []coupon.IssueItem
	// line is that of the first pending person.
	line int
}

// IssueCoupons gives the people of a file one coupon of a batch each, a chunk at a time.
// Who has one already is passed over, and so is a chunk that was issued before: the
// same file may be issued again, after whatever interruption, and each person has one
// coupon. A file that cannot be read as such, or a template that does not exist, is an
// ErrUsage; when the campaign refuses a chunk the report says so and the rest is not
// tried.
func (d *Database) IssueCoupons(ctx context.Context, source io.Reader, options IssueOptions) (IssueReport, error) {
	start := time.Now()
	if err := options.check(); err != nil {
		return IssueReport{}, Usage(err)
	}
	options.Format = cmp.Or(options.Format, FileCSV)
	if options.Zone == nil {
		options.Zone = time.UTC
	}
	file, err := openCouponFile(source, options.Format, issueColumns(), options.Zone)
	if err != nil {
		return IssueReport{}, Usage(err)
	}
	template, found, err := d.store.Template(ctx, options.Template)
	if err != nil {
		return IssueReport{}, err
	}
	if !found {
		return IssueReport{}, Usage(fmt.Errorf("there is no template %s: `couponctl templates list` shows them",
			options.Template))
	}
	r := &issueRun{
		options: options, file: file, template: template, now: d.store.Now, ask: d.previewOne,
		persons: map[fingerprint]fingerprint{}, codes: map[fingerprint]bool{},
		report: IssueReport{Template: options.Template, Batch: options.Batch, DryRun: options.DryRun, BadRows: []BadRow{}},
	}
	if options.DryRun {
		err = r.run(ctx)
	} else {
		err = d.withEngine(options.encode, func(e *engine.Engine) error {
			r.ask = e.Submit
			return r.audited(ctx, d.store.Record)
		})
		if r.report.Issued > 0 {
			d.restockAfterIssue(context.WithoutCancel(ctx), options.Template)
		}
	}
	r.report.Seconds = time.Since(start).Seconds()
	return r.report, err
}

func (o IssueOptions) encode(changes *coupon.Changes) ([]coupon.OutboxRow, error) {
	return handlers.Outbox(changes, o.Shards)
}

func (o IssueOptions) check() error {
	if err := errors.Join(checkWords(o.Actor, o.Reason), checkTemplateID(o.Template), checkText("batch", o.Batch)); err != nil {
		return err
	}
	if o.Batch == "" {
		return errors.New("name the batch: it is what each person gets one coupon of")
	}
	return nil
}

// previewOne has a request decided on the rows as they are and takes everything back.
func (d *Database) previewOne(ctx context.Context, request coupon.Request) (outcome coupon.Outcome, err error) {
	err = d.store.Preview(ctx, []coupon.Request{request}, func(world *coupon.World) {
		outcome = coupon.Decide(world, &request)
		world.Seal()
	})
	return outcome, err
}

// errStopped ends a run because the campaign refused a chunk; the report says why.
var errStopped = errors.New("refused")

// run reads the whole file.
func (r *issueRun) run(ctx context.Context) error {
	err := r.rows(ctx)
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

func (r *issueRun) rows(ctx context.Context) error {
	return eachRow(ctx, r, r.file.person, func(item coupon.IssueItem, line int) error {
		if !r.take(item, line) || len(r.pending) < IssueChunk {
			return nil
		}
		return r.flush(ctx)
	})
}

func (r *issueRun) row() { r.report.Rows++ }

// take puts a person into the chunk, unless the file had the person or the code before.
func (r *issueRun) take(item coupon.IssueItem, line int) bool {
	person := fingerprintOf(coupon.FoldPerson(item.Person))
	if earlier, twice := r.persons[person]; twice {
		r.twice(earlier == fingerprintOf(item.Person))
		return false
	}
	if item.Code != "" {
		code := fingerprintOf(coupon.Fold(item.Code))
		if r.codes[code] {
			r.bad(line, fmt.Sprintf("the code %s is in the file already, for somebody else", item.Code))
			return false
		}
		r.codes[code] = true
	}
	r.persons[person] = fingerprintOf(item.Person)
	if len(r.pending) == 0 {
		r.line = line
	}
	r.pending = append(r.pending, item)
	return true
}

func (r *issueRun) twice(exactly bool) {
	if exactly {
		r.report.SkippedInFile++
	} else {
		r.report.SkippedLetterCase++
	}
}

// flush has the chunk issued.
func (r *issueRun) flush(ctx context.Context) error {
	if len(r.pending) == 0 {
		return nil
	}
	now, err := r.now(ctx)
	if err != nil {
		return r.failed(ctx, err)
	}
	request, err := r.request(now)
	if err != nil {
		return err
	}
	outcome, err := r.ask(ctx, request)
	if err != nil {
		return r.failed(ctx, err)
	}
	people := len(r.pending)
	r.pending = r.pending[:0]
	if err := r.count(people, outcome); err != nil {
		return err
	}
	if r.options.Progress != nil {
		r.options.Progress(r.report.Rows)
	}
	return nil
}

// request asks for the chunk under a key of its own content, so that a chunk that was
// issued before is answered as it was then. The version of the template is part of the
// key: what was refused may be asked again once somebody changed the terms.
func (r *issueRun) request(now time.Time) (coupon.Request, error) {
	content, err := json.Marshal(struct {
		Template string
		Version  int64
		Batch    string
		Items    []coupon.IssueItem
	}{r.options.Template, r.template.Version, r.options.Batch, r.pending})
	if err != nil {
		return coupon.Request{}, fmt.Errorf("write down what is asked: %w", err)
	}
	hash := sha256.Sum256(content)
	key := "issue-" + hex.EncodeToString(hash[:20])
	return coupon.Request{
		ID: key, Key: key, Hash: hash, At: now, Actor: r.options.Actor,
		Fact: coupon.IssueCoupons{Template: r.options.Template, Batch: r.options.Batch, Items: r.pending},
	}, nil
}

// issuedOf reads what a chunk was answered, such as "ISSUED:200,SKIPPED:0".
func issuedOf(code coupon.Code) (issued, skipped int, known bool) {
	_, err := fmt.Sscanf(string(code), "ISSUED:%d,SKIPPED:%d", &issued, &skipped)
	return issued, skipped, err == nil
}

// count notes what a chunk was answered; errStopped when it was refused.
func (r *issueRun) count(people int, outcome coupon.Outcome) error {
	a := outcome.Answer
	issued, skipped, known := issuedOf(a.Code)
	switch {
	case a.Status == coupon.Refused:
		return r.stop(a.Code)
	case outcome.Status == coupon.Repeated:
		r.report.SkippedInDatabase += people
	case !known:
		return fmt.Errorf("line %d: a batch was answered %s", r.line, a.Code)
	case r.beyond(issued):
		return r.stop(coupon.QuotaExhausted)
	default:
		r.report.Issued += issued
		r.report.SkippedInDatabase += skipped
	}
	return nil
}

// beyond says whether a dry run, whose chunks are decided each on its own, would issue more
// than the campaign has left.
func (r *issueRun) beyond(issued int) bool {
	left := r.template.Left()
	return r.options.DryRun && left != coupon.NoLimit && int64(r.report.Issued+issued) > left
}

func (r *issueRun) bad(line int, reason string) {
	if r.report.Bad++; len(r.report.BadRows) < r.options.KeepBad {
		r.report.BadRows = append(r.report.BadRows, BadRow{line, reason})
	}
}
