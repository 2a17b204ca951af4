package console

import (
	"context"
	"errors"
	"io"
	"testing"

	"couponlease/internal/coupon"
)

// issueTo issues batch b1 to the owners of a generated file.
func (w *world) issueTo(ctx context.Context, source io.Reader, options IssueOptions) (IssueReport, error) {
	options.Template, options.Batch, options.Actor, options.Shards = "open", "b1", "test", 4
	return w.IssueCoupons(ctx, source, options)
}

func newCampaign(t testing.TB) *world {
	w := newWorld(t)
	w.ask("", coupon.DefineTemplate{Template: coupon.Template{ID: "open", Terms: coupon.Unlimited()}})
	return w
}

func TestAnInterruptedBatchSaysHowFarItCameAndGoesOn(t *testing.T) {
	const rows = 5 * IssueChunk
	w := newCampaign(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	report, err := w.issueTo(ctx, generatePeople(t, rows), IssueOptions{Progress: func(int) { interrupt() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the interruption", err)
	}
	if report.Issued != IssueChunk {
		t.Errorf("%d issued before the interruption, want %d", report.Issued, IssueChunk)
	}
	rest, err := w.issueTo(t.Context(), generatePeople(t, rows), IssueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rest.Issued != rows-IssueChunk || rest.SkippedInDatabase != IssueChunk {
		t.Errorf("the rest: %+v", rest)
	}
	log, err := w.AuditLog(t.Context(), AuditQuery{Action: "IssueCoupons", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []coupon.Code
	for _, entry := range log.Entries {
		outcomes = append(outcomes, entry.Outcome)
	}
	if len(outcomes) != 4 || outcomes[0] != auditDone || outcomes[2] != auditStopped {
		t.Errorf("audit log, newest first: %v", outcomes)
	}
}

// A chunk that was issued is answered as it was, without a second look at its people.
func TestAChunkIsIssuedOnceForItsContent(t *testing.T) {
	w := newCampaign(t)
	if _, err := w.issueTo(t.Context(), generatePeople(t, 3), IssueOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := w.issueTo(t.Context(), generatePeople(t, 3), IssueOptions{})
	if err != nil || again.Issued != 0 || again.SkippedInDatabase != 3 {
		t.Errorf("the same chunk: %+v, %v", again, err)
	}
	more, err := w.issueTo(t.Context(), generatePeople(t, 5), IssueOptions{})
	if err != nil || more.Issued != 2 || more.SkippedInDatabase != 3 {
		t.Errorf("a chunk with two more people: %+v, %v", more, err)
	}
}
