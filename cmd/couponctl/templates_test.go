package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// template runs a command about a template and reads its answer.
func template(t testing.TB, code int, args ...string) console.TemplateResult {
	t.Helper()
	o := ctl(t, append(append([]string{"templates"}, args...), "--output", "json")...)
	o.want(t, code)
	return decode[console.TemplateResult](t, o)
}

// showTemplate gives a template as it is.
func showTemplate(t testing.TB, id string) console.TemplateView {
	t.Helper()
	return decode[console.TemplateView](t, ctl(t, "templates", "show", id, "--output", "json"))
}

// changes gives what a command changed, one term a line.
func changes(r console.TemplateResult) string {
	var lines []string
	for _, change := range r.Changes {
		lines = append(lines, change.String())
	}
	return strings.Join(lines, "\n")
}

func TestATemplateByHand(t *testing.T) {
	migrated(t)
	created := template(t, exitOK, "create", "spring", "--name", "Spring sale", "--amount-off", "500", "--min-spend", "5000",
		"--currency", "EUR", "--total", "100", "--per-person", "1", "--valid-from", "2026-03-01", "--valid-until", "2026-03-31",
		"--zone", "Europe/Berlin", "--key", "k1", "--actor", "ann@desk")
	if created.Outcome != coupon.OK || created.Version != 1 {
		t.Errorf("created: %+v", created)
	}
	edited := template(t, exitOK, "edit", "spring", "--total", "250", "--min-spend", "4000", "--valid-until", "none",
		"--budget", "none", "--transferable", "--expected-version", "1", "--reason", "more budget", "--key", "k2", "--actor", "bob@desk")
	want := "min-spend 5,000 -> 4,000\ntotal 100 -> 250\nvalid-until 2026-03-31T22:00:00Z -> none\ntransferable false -> true"
	if diff := cmp.Diff(want, changes(edited)); diff != "" || edited.Version != 2 {
		t.Errorf("version %d changed (-want +got):\n%s", edited.Version, diff)
	}
	again := template(t, exitOK, "edit", "spring", "--total", "250", "--min-spend", "4000", "--valid-until", "none",
		"--budget", "none", "--transferable", "--expected-version", "1", "--reason", "again", "--key", "k2")
	if diff := cmp.Diff(want, changes(again)); diff != "" || !again.Repeated {
		t.Errorf("repeated (%t) it tells (-want +got):\n%s", again.Repeated, diff)
	}
	ctl(t, "templates", "edit", "spring", "--total", "250", "--reason", "x").
		want(t, exitOK, "done        EditTemplate NOOP; nothing changed", "version 2")

	view := showTemplate(t, "spring")
	if view.Issued != 0 || *view.Left != 250 || *view.Terms.PerPerson != 1 || view.Terms.PerDay != nil || len(view.Versions) != 2 {
		t.Errorf("the template is %+v", view)
	}
	from := time.Date(2026, 2, 28, 23, 0, 0, 0, time.UTC) // midnight in Berlin
	if !view.Terms.ValidFrom.Equal(from) || view.Terms.Zone != "Europe/Berlin" {
		t.Errorf("valid from %s in %s", view.Terms.ValidFrom, view.Terms.Zone)
	}
	ctl(t, "templates", "show", "spring").want(t, exitOK, "spring is ACTIVE, version 2", "500 off from 4,000 EUR",
		"0 of 250, 250 left", "2026-03-01T00:00:00+01:00", "by bob@desk", "total 100 -> 250", `name "" -> "Spring sale"`)
	ctl(t, "audit", "list", "--action", "EditTemplate", "--actor", "bob@desk").
		want(t, exitOK, "spring", "more budget", "min-spend 5,000 -> 4,000; total 100 -> 250")
	ctl(t, "audit", "list", "--action", "CreateTemplate").want(t, exitOK, "ann@desk", "amount-off none -> 500")
}

func TestATemplateIsPausedAndResumed(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t", "--paused")
	for _, step := range []struct {
		command string
		status  coupon.TemplateStatus
	}{{"resume", coupon.TemplateActive}, {"offline", coupon.TemplateDown}, {"pause", coupon.TemplatePaused}} {
		if got := template(t, exitOK, step.command, "t", "--reason", "x"); got.Outcome != coupon.OK {
			t.Errorf("%s: %+v", step.command, got)
		}
		if got := template(t, exitOK, step.command, "t", "--reason", "x"); got.Outcome != coupon.Noop {
			t.Errorf("%s again: %+v", step.command, got)
		}
		if view := showTemplate(t, "t"); view.Terms.Status != step.status {
			t.Errorf("after %s it is %s", step.command, view.Terms.Status)
		}
	}
	if view := showTemplate(t, "t"); view.Version != 4 {
		t.Errorf("three changes made version %d", view.Version)
	}
}

func TestADiscountIsChangedInParts(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t", "--percent", "12.5")
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--min-spend", "100", "--currency", "EUR"}, "currency none -> EUR\nmin-spend 0 -> 100"},
		{[]string{"--percent", "20"}, "percent-off 12.5 -> 20"},
		{[]string{"--min-spend", "0"}, "currency EUR -> none\nmin-spend 100 -> 0"},
		{[]string{"--no-threshold", "700", "--currency", "EUR"}, "percent-off 20 -> none\nno-threshold none -> 700\ncurrency none -> EUR"},
		{[]string{"--amount-off", "300", "--min-spend", "900"}, "amount-off none -> 300\nno-threshold 700 -> none\nmin-spend 0 -> 900"},
		{[]string{"--no-threshold", "1"}, "amount-off 300 -> none\nno-threshold none -> 1\nmin-spend 900 -> 0"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := template(t, exitOK, append([]string{"edit", "t", "--reason", "x"}, test.args...)...)
			if diff := cmp.Diff(test.want, changes(got)); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
		})
	}
}

// A date counts in the zone of the template, and a zone that changes moves no instant.
func TestDatesOfATemplate(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t", "--zone", "America/New_York", "--valid-until", "2026-07-04")
	until := showTemplate(t, "t").Terms.ValidUntil
	if want := time.Date(2026, 7, 5, 4, 0, 0, 0, time.UTC); !until.Equal(want) {
		t.Errorf("valid until %s, want %s", until, want)
	}
	if got := template(t, exitOK, "edit", "t", "--valid-until", "2026-07-04", "--reason", "x"); got.Outcome != coupon.Noop {
		t.Errorf("the same date: %+v", got)
	}
	moved := template(t, exitOK, "edit", "t", "--zone", "Asia/Tokyo", "--reason", "x")
	if got := changes(moved); got != "zone America/New_York -> Asia/Tokyo" {
		t.Errorf("another zone changed %s", got)
	}
	if got := template(t, exitOK, "edit", "t", "--zone", "UTC", "--valid-from", "2026-01-01T00:00:00+02:00", "--reason", "x"); changes(got) !=
		"valid-from none -> 2025-12-31T22:00:00Z\nzone Asia/Tokyo -> UTC" {
		t.Errorf("changed %s", changes(got))
	}
}

func TestRefusedCommandsAboutTemplatesSayWhatToDo(t *testing.T) {
	s := newShop(t, "c1", "c2")
	template(t, exitOK, "create", "spring", "--total", "10")
	issued := s.ask(t, coupon.Request{Key: "issue", Fact: coupon.IssueCoupons{Template: "spring", Batch: "b",
		Items: []coupon.IssueItem{{Code: "x1", Person: "u1"}, {Code: "x2", Person: "u2"}}}})
	if issued.Code != coupon.Issued(2, 0) {
		t.Fatalf("issued: %+v", issued)
	}
	tests := []struct {
		name string
		args []string
		says []string
	}{
		{"below issued", []string{"edit", "spring", "--total", "1", "--reason", "x"}, []string{"BELOW_ISSUED", "has issued 2 coupons"}},
		{"not counted", []string{"edit", "t", "--budget", "5", "--reason", "x"}, []string{"NOT_COUNTED", "the 2 coupons"}},
		{"version", []string{"edit", "spring", "--total", "20", "--expected-version", "7", "--reason", "x"},
			[]string{"VERSION_CONFLICT", "version 2 now", "templates show spring"}},
		{"unknown", []string{"edit", "nowhere", "--total", "20", "--reason", "x"}, []string{"UNKNOWN_TEMPLATE", "templates list"}},
		{"unknown, paused", []string{"pause", "nowhere", "--reason", "x"}, []string{"UNKNOWN_TEMPLATE"}},
		{"exists", []string{"create", "spring", "--total", "11"}, []string{"TEMPLATE_EXISTS", "templates edit"}},
		{"policy", []string{"edit", "spring", "--policy-version", "99", "--reason", "x"}, []string{"UNKNOWN_POLICY", "--policy-version"}},
		{"key", []string{"edit", "spring", "--total", "12", "--key", "k1", "--reason", "x"}, []string{"IDEMPOTENCY_MISMATCH", "leave --key out"}},
	}
	template(t, exitOK, "edit", "spring", "--name", "Spring", "--key", "k1", "--reason", "x")
	template(t, exitOK, "create", "other", "--total", "1")
	if got := template(t, exitOK, "create", "other", "--total", "1"); got.Outcome != coupon.Noop {
		t.Errorf("created again: %+v", got)
	}
	before := showTemplate(t, "spring")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := ctl(t, append([]string{"templates"}, test.args...)...)
			o.want(t, exitConflict, append(test.says, "refused     ", "nothing was changed", "next        ")...)
		})
	}
	if diff := cmp.Diff(before, showTemplate(t, "spring")); diff != "" {
		t.Errorf("refused commands changed it:\n%s", diff)
	}
	ctl(t, "templates", "show", "nowhere").want(t, exitError, "there is no template nowhere")
}

func TestWhatTemplatesCannotSay(t *testing.T) {
	migrated(t)
	template(t, exitOK, "create", "t", "--valid-until", "2026-07-04")
	tests := map[string][]string{
		"name at least one term":         {"edit", "t"},
		"needs an amount and a least":    {"edit", "t", "--amount-off", "5", "--currency", "EUR"},
		"a currency needs a sum":         {"edit", "t", "--percent", "5", "--currency", "EUR"},
		"no percentage":                  {"edit", "t", "--percent", "12.345"},
		"up to 100":                      {"edit", "t", "--percent", "100.01"},
		"no limit":                       {"edit", "t", "--total", "many"},
		"write a number from 0, or none": {"edit", "t", "--budget=-1"},
		"not before the end":             {"edit", "t", "--valid-from", "2026-08-01"},
		"valid until is \"soon\"":        {"edit", "t", "--valid-until", "soon"},
		`"Mars/Phobos" is not known`:     {"edit", "t", "--zone", "Mars/Phobos"},
		`"Local" is not known`:           {"edit", "t", "--zone", "Local"},
		"write a code such as EUR":       {"edit", "t", "--no-threshold", "5", "--currency", "eur"},
		"can't be used together":         {"edit", "t", "--no-threshold", "5", "--percent", "5"},
		"versions begin at 1":            {"edit", "t", "--policy-version", "0"},
		"white space":                    {"edit", " t", "--total", "1"},
		"control characters":             {"edit", "t", "--name", "a\x00b"},
		"redeem numbers":                 {"edit", "t", "--total", "1", "--key", "RD1"},
		"choose 1 to 1024":               {"edit", "t", "--total", "1", "--outbox-shards", "0"},
		"valid for":                      {"edit", "t", "--valid-days", "40000"},
	}
	for says, args := range tests {
		t.Run(says, func(t *testing.T) {
			ctl(t, append(append([]string{"templates"}, args...), "--reason", "x")...).want(t, exitFindings, says)
		})
	}
	ctl(t, "templates", "pause", "t", "--reason", " ").want(t, exitFindings, "say why")
	ctl(t, "templates", "list", "--limit", "0").want(t, exitFindings, "choose 1 to")
	ctl(t, "templates", "list", "--status", "GONE").want(t, exitFindings, "must be one of")
	if view := showTemplate(t, "t"); view.Version != 1 {
		t.Errorf("wrong usage made version %d", view.Version)
	}
	page := decode[console.AuditPage](t, ctl(t, "audit", "list", "--action", "EditTemplate", "-o", "json"))
	if len(page.Entries) != 0 {
		t.Errorf("wrong usage was asked: %+v", page.Entries)
	}
}

func TestTemplatesAreListedPageByPage(t *testing.T) {
	migrated(t)
	for _, id := range []string{"b", "a", "d", "c"} {
		template(t, exitOK, "create", id, "--percent", "5")
	}
	template(t, exitOK, "pause", "c", "--reason", "x")
	var ids []string
	for after := ""; ; {
		page := decode[console.TemplatePage](t, ctl(t, "templates", "list", "--limit", "3", "--after", after, "-o", "json"))
		for _, view := range page.Templates {
			ids = append(ids, view.ID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(ids, want) {
		t.Errorf("page by page %v, want %v", ids, want)
	}
	paused := ctl(t, "templates", "list", "--status", "PAUSED")
	paused.want(t, exitOK, "TEMPLATE", "5 % off", "c ")
	if strings.Contains(paused.stdout, "ACTIVE") {
		t.Errorf("paused ones are\n%s", paused.stdout)
	}
	ctl(t, "templates", "list", "--limit", "1").want(t, exitOK, "there is more: --after a")
}
