package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// campaigns is a file that says everything a template can say.
const campaigns = `
- template: spring
  name: Spring sale
  amount_off: 500
  min_spend: 5000
  currency: EUR
  total: 10000
  per_person: 1
  per_day: none
  uses_per_person: 2
  budget: 300
  policy_version: 1
  valid_from: 2026-03-01
  valid_until: 2026-03-31
  valid_days: 30
  zone: Europe/Berlin
  transferable: true
- template: loyal
  percent_off: 12.5
  status: PAUSED
---
- {template: any, no_threshold: 700, currency: CHF}
`

// applied applies a file and reads the plan.
func applied(t testing.TB, code int, file string, args ...string) console.TemplatePlan {
	t.Helper()
	o := ctlWith(t, file, append([]string{"templates", "apply", "-", "--output", "json"}, args...)...)
	o.want(t, code)
	return decode[console.TemplatePlan](t, o)
}

// steps tells in short what a plan does.
func steps(p console.TemplatePlan) string {
	var lines []string
	for _, step := range p.Steps {
		line := fmt.Sprintf("%s %s %s", step.Action, step.Template, step.Outcome)
		for _, change := range step.Changes {
			line += ", " + change.String()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestAFileOfTemplatesIsAppliedOnce(t *testing.T) {
	migrated(t)
	dry := applied(t, exitOK, campaigns, "--dry-run")
	if dry.Created != 3 || dry.Done || !dry.DryRun {
		t.Errorf("dry run: %+v", dry)
	}
	ctl(t, "templates", "list", "-o", "json").want(t, exitOK, `"templates": []`)
	ctlWith(t, campaigns, "templates", "apply", "-", "--dry-run").
		want(t, exitOK, "create     spring", "budget none -> 300", "3 templates: 3 would be created, 0 would be edited")

	if first := applied(t, exitOK, campaigns, "--reason", "spring", "--actor", "ann@desk"); first.Created != 3 || !first.Done {
		t.Errorf("first: %+v", first)
	}
	if again := applied(t, exitOK, campaigns); again.Unchanged != 3 || steps(again) != "unchanged spring \nunchanged loyal \nunchanged any " {
		t.Errorf("again:\n%s", steps(again))
	}
	log := decode[console.AuditPage](t, ctl(t, "audit", "list", "-o", "json"))
	if len(log.Entries) != 3 || log.Entries[0].Reason != "spring" || log.Entries[0].Actor != "ann@desk" {
		t.Errorf("three commands are audited as %+v", log.Entries)
	}
	view := showTemplate(t, "spring")
	if view.Terms.Name != "Spring sale" || *view.Terms.Budget != 300 || view.Terms.PerDay != nil || view.Terms.ValidDays != 30 ||
		!view.Terms.Transferable || view.Terms.Discount.Amount != 500 {
		t.Errorf("spring is %+v", view.Terms)
	}

	other := strings.NewReplacer("total: 10000", "total: 20000", "12.5", "15", "  per_person: 1\n", "").Replace(campaigns)
	want := "edit spring OK, total 10,000 -> 20,000, per-person 1 -> none\nedit loyal OK, percent-off 12.5 -> 15\nunchanged any "
	for _, args := range [][]string{{"--dry-run"}, nil} {
		if diff := cmp.Diff(want, steps(applied(t, exitOK, other, args...))); diff != "" {
			t.Errorf("changed file %v (-want +got):\n%s", args, diff)
		}
	}
}

// What is paused by hand stays paused, unless the file says something else.
func TestAFileWithoutAStatusLeavesItAlone(t *testing.T) {
	migrated(t)
	applied(t, exitOK, "- template: t\n")
	template(t, exitOK, "pause", "t", "--reason", "x")
	if plan := applied(t, exitOK, "- template: t\n  total: 5\n"); plan.Edited != 1 {
		t.Errorf("edited: %+v", plan)
	}
	if view := showTemplate(t, "t"); view.Terms.Status != coupon.TemplatePaused {
		t.Errorf("it is %s", view.Terms.Status)
	}
	if got := steps(applied(t, exitOK, "- template: t\n  total: 5\n  status: ACTIVE\n")); got != "edit t OK, status PAUSED -> ACTIVE" {
		t.Errorf("with a status: %s", got)
	}
}

// One template that would be refused stops the whole file before anything is asked.
func TestARefusedTemplateStopsTheWholeFile(t *testing.T) {
	newShop(t, "c1")
	file := "- template: fresh\n- template: t\n  budget: 3\n"
	for _, args := range [][]string{{"--dry-run"}, nil} {
		plan := applied(t, exitConflict, file, args...)
		if plan.Refused != 1 || plan.Done || plan.Steps[1].Outcome != coupon.NotCounted || plan.Steps[1].Next == "" {
			t.Errorf("%v: %+v", args, plan)
		}
	}
	ctlWith(t, file, "templates", "apply", "-").want(t, exitConflict, "t: refused, NOT_COUNTED", "next: ", "nothing was changed")
	ctl(t, "templates", "show", "fresh").want(t, exitError, "there is no template fresh")
}

func TestExportedTemplatesAreAppliedWithoutAChange(t *testing.T) {
	migrated(t)
	applied(t, exitOK, campaigns)
	template(t, exitOK, "create", "odd: name", "--name", "yes", "--valid-from", "2026-03-01T00:00:00.000001Z")
	exported := ctl(t, "templates", "export")
	exported.want(t, exitOK, "- template: any", "percent_off: 12.5", "total: 10000", "status: PAUSED")
	if plan := applied(t, exitOK, exported.stdout); plan.Unchanged != 4 {
		t.Errorf("applied again:\n%s", steps(plan))
	}
	migrated(t) // another database
	if plan := applied(t, exitOK, exported.stdout); plan.Created != 4 {
		t.Errorf("applied elsewhere:\n%s", steps(plan))
	}
	if elsewhere := ctl(t, "templates", "export").stdout; elsewhere != exported.stdout {
		t.Errorf("exported from elsewhere (-first +second):\n%s", cmp.Diff(exported.stdout, elsewhere))
	}
	one := ctl(t, "templates", "export", "spring")
	if one.want(t, exitOK, "spring"); strings.Contains(one.stdout, "loyal") {
		t.Errorf("spring alone is\n%s", one.stdout)
	}
	ctl(t, "templates", "export", "gone").want(t, exitFindings, "there is no template gone")
	ctl(t, "templates", "export", "-o", "json").want(t, exitFindings, "as YAML alone")
}

func TestAFileThatNamesNoPossibleTemplates(t *testing.T) {
	migrated(t)
	tests := []struct {
		name, file string
		says       []string
	}{
		{"empty", "", []string{"names no template"}},
		{"an object", "template: t\n", []string{"write a list of templates"}},
		{"a text in the list", "- t\n", []string{"line 1: write a template as fields"}},
		{"unknown fields", "- template: t\n  totl: 5\n  colour: red\n", []string{"line 2: field totl not found", "line 3: field colour not found", "apply --help"}},
		{"a field twice", "- template: t\n  total: 5\n  total: 6\n", []string{"line 3", "already"}},
		{"no number", "- template: t\n  min_spend: lots\n", []string{"line 2: str `lots` where int64 belongs"}},
		{"no limit", "- template: t\n  total: -5\n  budget: many\n", []string{`line 2: "-5" is no limit`, `line 3: "many" is no limit`}},
		{"no percentage", "- template: t\n  percent_off: 101\n", []string{`line 2: "101" is no percentage`}},
		{"impossible terms", "- template: a\n- template: b\n  amount_off: 5\n  currency: EUR\n- template: c\n  status: GONE\n",
			[]string{`line 2: template "b": AMOUNT_OFF needs`, `line 5: template "c": status "GONE"`}},
		{"two kinds", "- {template: a, amount_off: 5, percent_off: 5}\n", []string{"line 1", "name one"}},
		{"the same twice", "- template: a\n- template: a\n", []string{`line 2: template "a" is in line 1 already`}},
		{"no id", "- name: x\n", []string{"line 1", "no id of a template"}},
		{"no YAML", "- template: [\n", []string{"line 1: "}},
		{"too large", "#" + strings.Repeat("x", console.MaxTemplateFile), []string{"larger than 1024 KiB"}},
		{"too many", strings.Repeat("- template: x\n", console.MaxFileTemplates+1), []string{"more than 1000 templates"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := ctlWith(t, test.file, "templates", "apply", "-")
			o.want(t, exitFindings, test.says...)
			if strings.Contains(o.stderr, "console.") {
				t.Errorf("it shows its insides: %s", o.stderr)
			}
		})
	}
	ctl(t, "templates", "list", "-o", "json").want(t, exitOK, `"templates": []`)
}
