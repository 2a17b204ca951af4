package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
)

// asProgram makes the test binary the program itself, which can be killed.
const asProgram = "COUPONCTL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// issued issues a batch to a list and reads the report.
func issued(t testing.TB, code int, list, batch string, args ...string) console.IssueReport {
	t.Helper()
	all := append([]string{"coupons", "issue", "-", "--template", "t", "--batch", batch, "--output", "json"}, args...)
	o := ctlWith(t, list, all...)
	o.want(t, code)
	return decode[console.IssueReport](t, o)
}

// people is a list of so many.
func people(n int) string {
	var b strings.Builder
	b.WriteString("customer\n")
	for i := range n {
		fmt.Fprintf(&b, "u%d\n", i)
	}
	return b.String()
}

func wantIssue(t testing.TB, got, want console.IssueReport) {
	t.Helper()
	want.Template, want.Batch = "t", "b1"
	if want.BadRows == nil {
		want.BadRows = []console.BadRow{}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(console.IssueReport{}, "Seconds", "Next")); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestABatchGivesEachPersonOneCoupon(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t", "--percent", "10", "--total", "1000", "--per-person", "1", "--valid-days", "30")
	list := strings.Join([]string{
		"Customer;code;valid_until",
		"u1;;",
		"u1;;",
		"Ann@Example.com;;",
		"ann@example.COM ;;",
		"u2;VIP-1;2030-12-31",
		"u3;vip-1;",
		";;",
		"u4;;31.12.2030",
		"u5;;",
	}, "\n")
	want := console.IssueReport{
		Rows: 9, Issued: 4, SkippedInFile: 1, SkippedLetterCase: 1, Bad: 3, BadRows: []console.BadRow{
			{Line: 7, Reason: "the code vip-1 is in the file already, for somebody else"},
			{Line: 8, Reason: "the customer is empty"},
			{Line: 9, Reason: `valid_until is "31.12.2030": write 2026-12-31 or 2026-12-31T23:59:59+01:00`},
		},
	}
	dry := want
	dry.DryRun = true
	wantIssue(t, issued(t, exitFindings, list, "b1", "--dry-run"), dry)
	if view := showTemplate(t, "t"); view.Issued != 0 {
		t.Errorf("a dry run issued %d", view.Issued)
	}
	wantIssue(t, issued(t, exitFindings, list, "b1", "--reason", "thanks", "--actor", "ann@desk"), want)
	again := want
	again.Issued, again.SkippedInDatabase = 0, 4
	wantIssue(t, issued(t, exitFindings, list, "b1"), again)

	// Another list of the same batch, and another batch for the same people.
	wantIssue(t, issued(t, exitOK, "customer\nu6\nANN@example.com\nu5\n", "b1"),
		console.IssueReport{Rows: 3, Issued: 1, SkippedInDatabase: 2})
	if other := issued(t, exitOK, "customer\nu1\nu5\n", "b2"); other.Issued != 2 {
		t.Errorf("another batch: %+v", other)
	}
	view := decode[console.CouponView](t, ctl(t, "coupons", "show", "vip-1", "-o", "json"))
	if view.Owner != "u2" || view.Batch != "b1" || view.ValidUntil.Year() != 2031 {
		t.Errorf("the coupon with a code: %+v", view)
	}
	if template := showTemplate(t, "t"); template.Issued != 7 || template.Imported != 0 {
		t.Errorf("the template counts %d issued, %d imported", template.Issued, template.Imported)
	}
	log := ctl(t, "audit", "list", "--action", "IssueCoupons", "--actor", "ann@desk")
	log.want(t, exitOK, "DONE", "STARTED", "thanks", "4 coupons")
	ctl(t, "check").want(t, exitOK, "every invariant holds")
}

func TestABatchAsJSONLines(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t")
	list := `{"customer": "u1", "code": null}` + "\n" + `{"customer": 4711, "code": "X-1", "valid_until": "2030-12-31"}` + "\n" +
		`{"customer": "u1"}` + "\n" + `{"owner": "u2"}` + "\n"
	path := file(t, "list.NDJSON", list)
	o := ctl(t, "coupons", "issue", path, "--template", "t", "--batch", "b1", "-o", "json")
	o.want(t, exitFindings)
	wantIssue(t, decode[console.IssueReport](t, o), console.IssueReport{Rows: 4, Issued: 2, SkippedInFile: 1, Bad: 1,
		BadRows: []console.BadRow{{Line: 4, Reason: `there is no field "owner": the fields are customer, code, valid_from, valid_until`}}})
	if view := decode[console.CouponView](t, ctl(t, "coupons", "show", "X-1", "-o", "json")); view.Owner != "4711" {
		t.Errorf("owner %q", view.Owner)
	}
}

func TestACampaignThatHasTooFewLeftStopsABatch(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t", "--total", "450")
	list := people(700)
	stopped := console.IssueReport{Rows: 600, Issued: 400, Stopped: coupon.QuotaExhausted, StoppedLine: 402}
	dry := stopped
	dry.DryRun = true
	wantIssue(t, issued(t, exitConflict, list, "b1", "--dry-run"), dry)
	wantIssue(t, issued(t, exitConflict, list, "b1"), stopped)
	ctlWith(t, list, "coupons", "issue", "-", "--template", "t", "--batch", "b1").
		want(t, exitConflict, "0 coupons of batch b1 issued", "400 have their coupon", "stopped at line 402: QUOTA_EXHAUSTED", "raise --total")
	template(t, exitOK, "edit", "t", "--total", "700", "--reason", "more")
	wantIssue(t, issued(t, exitOK, list, "b1"), console.IssueReport{Rows: 700, Issued: 300, SkippedInDatabase: 400})
	if view := showTemplate(t, "t"); view.Issued != 700 || *view.Left != 0 {
		t.Errorf("issued %d, left %d", view.Issued, *view.Left)
	}
	template(t, exitOK, "offline", "t", "--reason", "x")
	ctlWith(t, people(1), "coupons", "issue", "-", "--template", "t", "--batch", "b3").
		want(t, exitConflict, "TEMPLATE_OFFLINE", "templates resume t")
}

// The program is killed while it waits for more of the list, after it has issued a part of
// it. The whole list issued again gives each person one coupon.
func TestABatchThatWasKilledGoesOn(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t")
	const all = 1000
	list := people(all)
	cut := strings.Index(list, "\nu500\n") + 1

	program := exec.CommandContext(t.Context(), os.Args[0], "coupons", "issue", "-", "--template", "t", "--batch", "b1")
	program.Env = append(os.Environ(), asProgram+"=1")
	stdin, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, list[:cut]); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "two chunks are issued", func() (bool, string) {
		got := showTemplate(t, "t").Issued
		return got == 2*console.IssueChunk, fmt.Sprintf("%d issued", got)
	})
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := program.Wait(); err == nil {
		t.Fatal("the program ended before it was killed")
	}
	log := decode[console.AuditPage](t, ctl(t, "audit", "list", "--action", "IssueCoupons", "-o", "json"))
	if len(log.Entries) != 1 || log.Entries[0].Outcome != "STARTED" {
		t.Errorf("the audit log of a killed batch: %+v", log.Entries)
	}

	wantIssue(t, issued(t, exitOK, list, "b1"), console.IssueReport{Rows: all, Issued: 600, SkippedInDatabase: 400})
	if view := showTemplate(t, "t"); view.Issued != all {
		t.Errorf("%d issued to %d people", view.Issued, all)
	}
	ctl(t, "check").want(t, exitOK, "every invariant holds")
}

func TestWhatABatchNeeds(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t")
	issue := func(list string, args ...string) outcome {
		return ctlWith(t, list, append([]string{"coupons", "issue", "-"}, args...)...)
	}
	issue("customer\nu\n", "--template", "t").want(t, exitFindings, "--batch")
	issue("customer\nu\n", "--template", "t", "--batch", "").want(t, exitFindings, "name the batch")
	issue("customer\nu\n", "--template", "typo", "--batch", "b").want(t, exitFindings, "no template typo", "templates list")
	issue("code\nc\n", "--template", "t", "--batch", "b").want(t, exitFindings, "there is no column customer")
	issue("customer,owner\nu,v\n", "--template", "t", "--batch", "b").want(t, exitFindings, `no column "owner"`)
	issue("", "--template", "t", "--batch", "b").want(t, exitFindings, "the file is empty", "customer,code")
	issue("", "--template", "t", "--batch", "b", "--format", "jsonl").want(t, exitFindings, "the file is empty", `{"customer": "..."}`)
	issue("customer\nu\n", "--template", "t", "--batch", "b", "--outbox-shards", "0").want(t, exitFindings, "choose 1 to 1024")
	ctl(t, "coupons", "issue", "nowhere.csv", "--template", "t", "--batch", "b").want(t, exitFindings, "no such file")
}

// Two people issue overlapping lists of one batch at the same time, from both ends.
func TestTwoWhoIssueOneBatchAtOnce(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t")
	const all = 2000
	rows := strings.Split(strings.TrimSpace(people(all)), "\n")
	slices.Reverse(rows[1:])
	lists := []string{people(all), strings.Join(rows, "\n")}
	outcomes := make([]outcome, len(lists))
	var group sync.WaitGroup
	for i, list := range lists {
		group.Go(func() {
			outcomes[i] = ctlWith(t, list, "coupons", "issue", "-", "--template", "t", "--batch", "b1", "-o", "json")
		})
	}
	group.Wait()
	got := 0
	for _, o := range outcomes {
		o.want(t, exitOK)
		report := decode[console.IssueReport](t, o)
		if got += report.Issued; report.Issued+report.SkippedInDatabase != all {
			t.Errorf("report %+v", report)
		}
	}
	if view := showTemplate(t, "t"); got != all || view.Issued != all {
		t.Errorf("%d told, %d issued to %d people", got, view.Issued, all)
	}
	ctl(t, "check").want(t, exitOK, "every invariant holds")
}
