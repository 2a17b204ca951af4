package console

import (
	"context"
	"fmt"
	"io"

	"couponlease/internal/coupon"
)

// IssueReport is what issuing a batch did, or in a dry run would do.
type IssueReport struct {
	DryRun   bool   `json:"dryRun"`
	Template string `json:"template"`
	Batch    string `json:"batch"`
	// Rows is how many were read; each person was issued a coupon, passed over, bad, or
	// behind the place where the campaign refused.
	Rows   int `json:"rows"`
	Issued int `json:"issued"`
	// SkippedInFile are people that an earlier row names, SkippedLetterCase the same in
	// another spelling, SkippedInDatabase those who have a coupon of the batch already, or
	// whose code exists.
	SkippedInFile     int `json:"skippedInFile"`
	SkippedLetterCase int `json:"skippedLetterCase"`
	SkippedInDatabase int `json:"skippedInDatabase"`
	Bad               int `json:"bad"`
	// BadRows lists the first of them.
	BadRows []BadRow `json:"badRows"`
	// Stopped is why the campaign refused a chunk, whose first person is in StoppedLine;
	// nothing of it or behind it was issued. "" when the whole file was dealt with.
	Stopped     coupon.Code `json:"stopped,omitempty"`
	StoppedLine int         `json:"stoppedLine,omitempty"`
	// Next says what to do now; "" when nothing is left to say.
	Next    string  `json:"next,omitempty"`
	Seconds float64 `json:"seconds"`
}

// WriteText prints the bad rows and the counts.
func (r IssueReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, bad := range r.BadRows {
		out.addf("line %d: %s", bad.Line, bad.Reason)
	}
	if more := r.Bad - len(r.BadRows); more > 0 {
		out.addf("... and %s like these", count(more, "bad row"))
	}
	issued := "issued"
	if r.DryRun {
		issued = "would be issued"
	}
	out.addf("%s in %.1f s: %s of batch %s %s", count(r.Rows, "row"), r.Seconds, count(r.Issued, "coupon"), r.Batch, issued)
	for _, skipped := range []struct {
		rows int
		why  string
	}{
		{r.SkippedInFile, "twice in the file"},
		{r.SkippedLetterCase, "twice in the file, in another spelling"},
		{r.SkippedInDatabase, "have their coupon, or exist, already"},
		{r.Bad, "bad"},
	} {
		if skipped.rows > 0 {
			out.addf("  %s %s", thousands(int64(skipped.rows)), skipped.why)
		}
	}
	if r.Stopped != "" {
		out.addf("stopped at line %d: %s; nobody from there on got a coupon", r.StoppedLine, r.Stopped)
		out.addf("next: %s", r.Next)
	}
	return out.err
}

// stop notes that the campaign refused the chunk.
func (r *issueRun) stop(code coupon.Code) error {
	r.report.Stopped, r.report.StoppedLine = code, r.line
	again := "then issue the same file again, which goes on where it stopped"
	switch code {
	case coupon.QuotaExhausted:
		r.report.Next = fmt.Sprintf("the campaign has less left than the next chunk needs (`couponctl templates show %s`): "+
			"raise --total with `couponctl templates edit`, %s", r.options.Template, again)
	case coupon.TemplateOffline:
		r.report.Next = fmt.Sprintf("the campaign is offline: `couponctl templates resume %s`, %s", r.options.Template, again)
	case coupon.ExpiredState:
		r.report.Next = "the campaign's validity is over: change --valid-until with `couponctl templates edit`, " + again
	default:
		r.report.Next = hint("IssueCoupons", code)
	}
	return errStopped
}

// failed tells why there is no answer about a chunk.
func (r *issueRun) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return r.interrupted(ctx.Err())
	}
	return fmt.Errorf("line %d: %w", r.line, err)
}

func (r *issueRun) interrupted(cause error) error {
	return fmt.Errorf("after %s, %s issued: issue the same file again to go on: %w",
		count(r.report.Rows, "row"), thousands(int64(r.report.Issued)), cause)
}

// audited issues a batch between its two rows of the audit log, as an import has them. Its
// chunks have none, because they would name every person once more.
func (r *issueRun) audited(ctx context.Context, record func(context.Context, coupon.AuditRow) error) error {
	row := coupon.AuditRow{
		Actor: r.options.Actor, Action: "IssueCoupons", Subject: r.options.Template, Reason: r.options.Reason,
	}
	asked := issueArguments{r.options.Template, r.options.Batch, r.options.File, r.options.Zone.String()}
	return aroundAudit(ctx, record, row, asked, func() (worked, error) {
		err := r.run(ctx)
		return worked{count: int64(r.report.Issued), isStopped: r.report.Stopped != "", report: r.report}, err
	})
}

// issueArguments is how a batch was asked for.
type issueArguments struct {
	Template string `json:"template"`
	Batch    string `json:"batch"`
	File     string `json:"file"`
	Zone     string `json:"zone"`
}
