package console

import (
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"couponlease/handlers"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
)

// ImportReport is what an import did, or in a dry run would do.
type ImportReport struct {
	DryRun bool `json:"dryRun"`
	// Rows is how many the file has; each is created, skipped or bad.
	Rows    int `json:"rows"`
	Created int `json:"created"`
	// SkippedInFile are codes that an earlier row has; SkippedInDatabase are
	// coupons already; SkippedLetterCase are either, written in other letter case.
	SkippedInFile     int `json:"skippedInFile"`
	SkippedInDatabase int `json:"skippedInDatabase"`
	SkippedLetterCase int `json:"skippedLetterCase"`
	Bad               int `json:"bad"`
	// BadRows lists the first of them.
	BadRows          []BadRow `json:"badRows"`
	TemplatesDefined []string `json:"templatesDefined"`
	Seconds          float64  `json:"seconds"`
}

// BadRow is a row that cannot become a coupon.
type BadRow struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// WriteText prints the bad rows and the counts.
func (r ImportReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, bad := range r.BadRows {
		out.addf("line %d: %s", bad.Line, bad.Reason)
	}
	if more := r.Bad - len(r.BadRows); more > 0 {
		out.addf("... and %s like these", count(more, "bad row"))
	}
	created := "created"
	if r.DryRun {
		created = "would be created"
	}
	if len(r.TemplatesDefined) > 0 {
		out.addf("template %s %s", strings.Join(r.TemplatesDefined, ", "), created)
	}
	out.addf("%s in %.1f s: %s %s", count(r.Rows, "row"), r.Seconds, thousands(int64(r.Created)), created)
	for _, skipped := range []struct {
		rows int
		why  string
	}{
		{r.SkippedInFile, "twice in the file"},
		{r.SkippedInDatabase, "in the database already"},
		{r.SkippedLetterCase, "known in another letter case"},
		{r.Bad, "bad"},
	} {
		if skipped.rows > 0 {
			out.addf("  %s %s", thousands(int64(skipped.rows)), skipped.why)
		}
	}
	return out.err
}

// ImportCoupons makes the codes of a file coupons, a batch at a time. A code
// that is a coupon already is left alone, so the same file may be imported again.
// Bad rows are counted and passed over. A file that cannot be read as such is an
// ErrUsage; limits that contradict an existing template are an ErrConflict.
//
// Shards is the number of outbox shards that the daemons serve.
func (d *Database) ImportCoupons(
	ctx context.Context, source io.Reader, shards int, options ImportOptions,
) (ImportReport, error) {
	start := time.Now()
	if err := checkWords(options.Actor, options.Reason); err != nil {
		return ImportReport{}, err
	}
	options.Format = cmp.Or(options.Format, FileCSV)
	if options.Zone == nil {
		options.Zone = time.UTC
	}
	file, err := openCouponFile(source, options.Format, importColumns(), options.Zone)
	if err != nil {
		return ImportReport{}, Usage(err)
	}
	r := &importRun{
		options: options, reader: d.store, file: file,
		seen: map[fingerprint]fingerprint{}, templates: map[string]bool{},
		report: ImportReport{DryRun: options.DryRun, BadRows: []BadRow{}, TemplatesDefined: []string{}},
	}
	encode := func(changes *coupon.Changes) ([]coupon.OutboxRow, error) {
		return handlers.Outbox(changes, shards)
	}
	err = d.withEngine(encode, func(e *engine.Engine) error {
		r.engine = e
		return r.audited(ctx, d.store.Record)
	})
	r.report.Seconds = time.Since(start).Seconds()
	return r.report, err
}

// work imports the whole file.
func (r *importRun) work(ctx context.Context) error {
	if r.options.Template != "" {
		// A mistyped name is one mistake, not one for each row.
		known, err := r.template(ctx, r.options.Template)
		if err != nil {
			return err
		}
		if !known {
			return Usage(badRow("template %s does not exist: --define-template creates it", r.options.Template))
		}
	}
	return r.run(ctx)
}
