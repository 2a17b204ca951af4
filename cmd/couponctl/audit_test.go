package main

import (
	"fmt"
	"strings"
	"testing"

	"couponlease/internal/console"
)

func TestAuditListTellsWhoDidWhatAndWhy(t *testing.T) {
	newShop(t, "c1", "c2")
	ctl(t, "void", "c1", "--reason", "printed twice", "--actor", "ann@desk", "--key", "k1").want(t, exitOK)
	ctl(t, "void", "c1", "--reason", "printed twice", "--actor", "ann@desk", "--key", "k1").want(t, exitOK)
	ctl(t, "void", "c2", "--reason", "leaked").want(t, exitOK)
	ctl(t, "audit", "list").want(t, exitOK, "OUTCOME", "printed twice", "c1 v1 AVAILABLE -> v2 VOID", "DUPLICATE of OK", actor())
	page := decode[console.AuditPage](t, ctl(t, "audit", "list", "--actor", "ann@desk", "-o", "json"))
	if len(page.Entries) != 2 || page.Entries[1].Key != "k1" || page.Entries[1].Count != 1 || page.Entries[0].Count != 0 {
		t.Errorf("what ann did: %+v", page)
	}
	ctl(t, "audit", "list", "--until", "2020-01-01T00:00:00Z", "-o", "json").want(t, exitOK, `"entries": []`)
	var pages []string
	for before := int64(0); ; {
		page := decode[console.AuditPage](t, ctl(t, "audit", "list", "--limit", "2", "--before", fmt.Sprint(before), "-o", "json"))
		for _, e := range page.Entries {
			pages = append(pages, e.Action+":"+string(e.Outcome))
		}
		if before = page.Next; before == 0 {
			break
		}
	}
	want := "VoidCoupon:OK VoidCoupon:DUPLICATE VoidCoupon:OK ImportCoupons:DONE ImportCoupons:STARTED"
	if got := strings.Join(pages, " "); got != want {
		t.Errorf("page by page: %s, want %s", got, want)
	}
	ctl(t, "audit", "list", "--limit", "0").want(t, exitFindings, "choose 1 to")
}

func TestAnImportIsAuditedBeforeAndAfter(t *testing.T) {
	migrated(t)
	imported(t, exitOK, "code\na\nb\n", "--template", "t", "--define-template", "--dry-run")
	imported(t, exitOK, "code\na\nb\n", "--template", "t", "--define-template", "--reason", "spring sale")
	imported(t, exitOK, "code\nb\nc\n", "--template", "t", "--actor", "ann@desk")
	ctlWith(t, "code\nd\n", "coupons", "import", "-", "--template", "nowhere").want(t, exitFindings)
	page := decode[console.AuditPage](t, ctl(t, "audit", "list", "-o", "json"))
	var rows []string
	for _, e := range page.Entries {
		rows = append(rows, fmt.Sprintf("%s %d %s", e.Outcome, e.Count, e.Reason))
	}
	want := "STOPPED 0 ,STARTED 0 ,DONE 1 ,STARTED 0 ,DONE 2 spring sale,STARTED 0 spring sale"
	if got := strings.Join(rows, ","); got != want {
		t.Fatalf("audit log:\n%s\nwant\n%s", got, want)
	}
	done, started := page.Entries[2], page.Entries[3]
	if done.Key == "" || done.Key != started.Key || done.Actor != "ann@desk" || done.Subject != "-" {
		t.Errorf("the two rows do not belong together: %+v, %+v", done, started)
	}
}

func TestWhatOperatorsGetWrong(t *testing.T) {
	noServices(t)
	t.Setenv(tokenVariable, "")
	for _, test := range []struct {
		name string
		args []string
		says string
	}{
		{"void without a reason", []string{"void", "c1"}, "--reason"},
		{"an empty reason", []string{"void", "c1", "--reason", " "}, "say why"},
		{"release without a reason", []string{"release", "c1"}, "--reason"},
		{"redeem without an order", []string{"redeem", "c1", "--reason", "x"}, "--order"},
		{"no token", []string{"release", "c1", "--reason", "x"}, "--token-file"},
		{"a token on the command line", []string{"release", "c1", "--reason", "x", "--token", "t"}, "unknown flag --token"},
		{"no token file", []string{"renew", "c1", "--token-file", "nowhere"}, "no such file"},
		{"half a second", []string{"lock", "c1", "--order", "Q", "--lease", "1500ms"}, "whole seconds"},
		{"both ends", []string{"renew", "c1", "--lease", "5s", "--open-ended"}, "contradict"},
		{"both names of an operation", []string{"reverse", "c1", "--operation", "x", "--version", "2", "--reason", "x"}, "can't be used together"},
		{"no redemption", []string{"flow", "show"}, "--request"},
		{"two redemptions", []string{"flow", "show", "RD1", "--request", "2"}, "--request"},
		{"shards", []string{"void", "c1", "--reason", "x", "--outbox-shards", "0"}, "choose 1 to 1024"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctl(t, test.args...).want(t, exitFindings, test.says)
		})
	}
}

func TestWhatCommandsCannotHold(t *testing.T) {
	migrated(t)
	long := strings.Repeat("x", 201)
	ctl(t, "lock", "c1", "--order", "Q", "--reason", long).want(t, exitFindings, "at most 200 characters")
	ctl(t, "lock", "c1", "--order", "Q", "--actor", "a\x00b").want(t, exitFindings, "control characters")
	ctl(t, "lock", long, "--order", "Q").want(t, exitFindings, "code")
	ctl(t, "lock", "c1", "--order", "Q").want(t, exitConflict, "UNKNOWN_COUPON", "check the code")
}
