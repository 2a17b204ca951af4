package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/console"
)

// imported runs an import of text and reads its report.
func imported(t testing.TB, code int, text string, args ...string) console.ImportReport {
	t.Helper()
	all := append([]string{"coupons", "import", "-", "--output", "json"}, args...)
	o := ctlWith(t, text, all...)
	o.want(t, code)
	return decode[console.ImportReport](t, o)
}

var noSeconds = cmpopts.IgnoreFields(console.ImportReport{}, "Seconds")

// define creates a template by importing nothing under it.
func define(t testing.TB, template string) {
	t.Helper()
	imported(t, exitOK, "code\n", "--template", template, "--define-template")
}

func TestImportReadsWhatSpreadsheetsWrite(t *testing.T) {
	migrated(t)
	define(t, "t")
	tests := []struct {
		name, text string
		want       console.ImportReport
	}{
		{"header only", "code\n", console.ImportReport{}},
		{"byte order mark and CRLF", "\ufeffcode,owner\r\nbom-1,u1\r\nbom-2,u2\r\n", console.ImportReport{Rows: 2, Created: 2}},
		{"no line end at the end", "code\nend-1", console.ImportReport{Rows: 1, Created: 1}},
		{"blank lines", "code\n\n  \nblank-1\n\n", console.ImportReport{Rows: 1, Created: 1}},
		{"quotes", "code,owner\n\"quo,te\",\"u \"\"1\"\"\"\n", console.ImportReport{Rows: 1, Created: 1}},
		{"semicolons", "Code;Owner\nsemi-1;u1\n", console.ImportReport{Rows: 1, Created: 1}},
		{"tabs", "owner\tcode\nu1\ttab-1\n", console.ImportReport{Rows: 1, Created: 1}},
		{"dates", "code,valid_from,valid_until\ndate-1,2026-01-01,2026-01-01\ndate-2,,2026-01-01T10:00:00+02:00\n",
			console.ImportReport{Rows: 2, Created: 2}},
		{"twice, and in another letter case", "code\nDup-1\nDup-1\ndup-1\n dup-1 \n",
			console.ImportReport{Rows: 4, Created: 1, SkippedInFile: 1, SkippedLetterCase: 2}},
		{"other scripts", "code\n生日-1\nÄPFEL-1\näpfel-1\n",
			console.ImportReport{Rows: 3, Created: 2, SkippedLetterCase: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.want.BadRows, test.want.TemplatesDefined = []console.BadRow{}, []string{}
			got := imported(t, exitOK, test.text, "--template", "t")
			if diff := cmp.Diff(test.want, got, noSeconds); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
	view := decode[console.CouponView](t, ctl(t, "coupons", "show", "DATE-1", "-o", "json"))
	if from, until := view.ValidFrom.String(), view.ValidUntil.String(); from != "2026-01-01 00:00:00 +0000 UTC" ||
		until != "2026-01-02 00:00:00 +0000 UTC" {
		t.Errorf("a validity of one whole day is %s to %s", from, until)
	}
}

func TestImportGoesOnAfterBadRows(t *testing.T) {
	migrated(t)
	define(t, "t")
	text := strings.Join([]string{
		"code,template,owner,valid_from,valid_until,batch",
		"good-1,,,,,",
		"bad-date,,,31.12.2026,,",
		"bad-order,,,2026-02-01,2026-01-01,",
		`"unclosed,,,,,`,
		"good-2,,,,,",
		",,,,,",
		"few,fields",
		"bad\x00code,,,,,",
		"bad-\xff-utf8,,,,,",
		"elsewhere,nowhere,,,,",
		strings.Repeat("x", 201) + ",,,,,",
		strings.Repeat("y", 70<<10) + ",,,,,",
		"good-3,,,,,last",
	}, "\n")
	got := imported(t, exitFindings, text, "--template", "t")
	want := console.ImportReport{
		Rows: 13, Created: 3, Bad: 10, TemplatesDefined: []string{},
		BadRows: []console.BadRow{
			{Line: 3, Reason: `valid_from is "31.12.2026": write 2026-12-31 or 2026-12-31T23:59:59+01:00`},
			{Line: 4, Reason: "valid_until is not after valid_from"},
			{Line: 5, Reason: "the quotes do not match; a field cannot span lines"},
			{Line: 7, Reason: "the code is empty"},
			{Line: 8, Reason: "2 fields instead of the header's 6"},
			{Line: 9, Reason: "code has a control character in it"},
			{Line: 10, Reason: "the line is not UTF-8"},
			{Line: 11, Reason: "template nowhere does not exist: --define-template creates it"},
			{Line: 12, Reason: "code is longer than 200 characters"},
			{Line: 13, Reason: "the line is longer than 64 KiB"},
		},
	}
	if diff := cmp.Diff(want, got, noSeconds); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	ctlWith(t, text, "coupons", "import", "-", "--template", "t", "--limit", "2").
		want(t, exitFindings, "line 3: valid_from", "... and 8 bad rows like these", "3 in the database already")
}

func TestAFileThatIsNoneEndsWithCode2(t *testing.T) {
	migrated(t)
	define(t, "t")
	tests := []struct{ name, text, says string }{
		{"empty", "", "the file is empty"},
		{"only blank lines", "\n\n", "the file is empty"},
		{"no code column", "owner,batch\nu1,b1\n", "no column code"},
		{"unknown column", "code,colour\nx,red\n", `no column "colour"`},
		{"column named twice", "code,code\nx,x\n", "named twice"},
		{"UTF-16", "\xff\xfec\x00o\x00d\x00e\x00\n\x00", "UTF-16"},
		{"binary header", "\xff\n", "not UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctlWith(t, test.text, "coupons", "import", "-", "--template", "t").want(t, exitFindings, test.says)
		})
	}
	ctlWith(t, "code\nx\n", "coupons", "import", "-", "--template", "typo").
		want(t, exitFindings, "template typo does not exist", "--define-template")
	ctlWith(t, "code\nx\n", "coupons", "import", "-").want(t, exitFindings, "line 2: no template")
}

func TestImportAgainSkipsWhatIsThere(t *testing.T) {
	migrated(t)
	text := "code,owner\nOne,u1\nTwo,u2\n"
	first := imported(t, exitOK, text, "--template", "t", "--define-template", "--dry-run")
	if first.Created != 2 || !first.DryRun || len(first.TemplatesDefined) != 1 {
		t.Errorf("dry run: %+v", first)
	}
	ctl(t, "coupons", "show", "one").want(t, exitError, "there is no coupon")
	if second := imported(t, exitOK, text, "--template", "t", "--define-template"); second.Created != 2 {
		t.Errorf("after the dry run: %+v", second)
	}
	third := imported(t, exitOK, text+"ONE,u9\nThree,u3\n", "--template", "t")
	want := console.ImportReport{
		Rows: 4, Created: 1, SkippedInDatabase: 2, SkippedLetterCase: 1,
		BadRows: []console.BadRow{}, TemplatesDefined: []string{},
	}
	if diff := cmp.Diff(want, third, noSeconds); diff != "" {
		t.Errorf("third import (-want +got):\n%s", diff)
	}
	fourth := imported(t, exitOK, "code\nTHREE\n", "--template", "t")
	if fourth.SkippedLetterCase != 1 || fourth.Created != 0 {
		t.Errorf("a known code in another letter case: %+v", fourth)
	}
	view := decode[console.CouponView](t, ctl(t, "coupons", "show", "ONE", "-o", "json"))
	if view.Owner != "u1" || view.Version != 1 {
		t.Errorf("the coupon was touched by a later import: %+v", view)
	}
	ctl(t, "coupons", "show", "one").want(t, exitOK, "AVAILABLE, version 1", "owner       u1")
}

func TestLimitsOfTemplates(t *testing.T) {
	migrated(t)
	limits := []string{"--template", "t", "--define-template", "--budget", "5", "--uses-per-person", "1", "--valid-days", "30"}
	got := imported(t, exitOK, "code,template\na,\nb,other\n", limits...)
	if diff := cmp.Diff([]string{"t", "other"}, got.TemplatesDefined); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
	imported(t, exitOK, "code\nc\n", limits...)
	ctlWith(t, "code\nd\n", "coupons", "import", "-", "--template", "t", "--define-template", "--budget", "6").
		want(t, exitConflict, "budget 5", "budget 6", "leave out --define-template")
	ctl(t, "coupons", "show", "d").want(t, exitError)
	view := decode[console.CouponView](t, ctl(t, "coupons", "show", "c", "-o", "json"))
	if view.ValidUntil.IsZero() {
		t.Error("a template valid for 30 days issued a coupon without end")
	}
}

func TestImportReadsJSONLines(t *testing.T) {
	migrated(t)
	define(t, "t")
	text := strings.Join([]string{
		"\ufeff" + `{"code": "Good-1", "owner": "u1", "valid_until": "2030-12-31", "batch": null}`,
		`{"code": 4711, "owner": "Ann@Example.com"}`,
		"",
		`{"code": "good-1"}`,
		`{"code": "two", "code": "three"}`,
		`{"code": "x", "colour": "red"}`,
		`{"code": ["x"]}`,
		`{"code": "x"`,
		`{"code": "x"} {"code": "y"}`,
		`["x"]`,
		`{"owner": "u1"}`,
		`{"code": "bad-` + "\xff" + `"}`,
		`{"code": "a\u0000b"}`,
		`{"code": "late", "valid_from": "2026-02-01", "valid_until": "2026-01-01"}`,
		strings.Repeat(`{"code": "x"}`, 8<<10),
		`{"code": "Good-2", "template": "nowhere"}`,
	}, "\n")
	got := imported(t, exitFindings, text, "--template", "t", "--format", "jsonl")
	want := console.ImportReport{
		Rows: 15, Created: 2, SkippedLetterCase: 1, Bad: 12, TemplatesDefined: []string{},
		BadRows: []console.BadRow{
			{Line: 5, Reason: "field code is there twice"},
			{Line: 6, Reason: `there is no field "colour": the fields are code, template, owner, valid_from, valid_until, batch`},
			{Line: 7, Reason: "field code is neither a text nor a number"},
			{Line: 8, Reason: "the line is not a JSON object"},
			{Line: 9, Reason: "something follows the JSON object"},
			{Line: 10, Reason: "the line is not a JSON object"},
			{Line: 11, Reason: "the code is empty"},
			{Line: 12, Reason: "the line is not UTF-8"},
			{Line: 13, Reason: "code has a control character in it"},
			{Line: 14, Reason: "valid_until is not after valid_from"},
			{Line: 15, Reason: "the line is longer than 64 KiB"},
			{Line: 16, Reason: "template nowhere does not exist: --define-template creates it"},
		},
	}
	if diff := cmp.Diff(want, got, noSeconds); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	view := decode[console.CouponView](t, ctl(t, "coupons", "show", "good-1", "-o", "json"))
	if view.Owner != "u1" || view.ValidUntil.Year() != 2031 {
		t.Errorf("imported %+v", view)
	}
	if template := showTemplate(t, "t"); template.Imported != 2 || template.Issued != 0 {
		t.Errorf("an import counts as %d imported, %d issued", template.Imported, template.Issued)
	}
	path := file(t, "codes.jsonl", `{"code": "by-name"}`+"\n")
	ctl(t, "coupons", "import", path, "--template", "t").want(t, exitOK, "1 created")
	ctl(t, "coupons", "import", path, "--template", "t", "--format", "csv").want(t, exitFindings, "line 1: the quotes")
	ctlWith(t, "", "coupons", "import", "-", "--template", "t", "--format", "jsonl").want(t, exitFindings, "the file is empty")
	ctlWith(t, "\xff\xfe{", "coupons", "import", "-", "--template", "t", "--format", "jsonl").want(t, exitFindings, "UTF-16: save it as JSONL")
}
