package main

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/console"
)

func TestCheckEndsWithCode2WhenAnInvariantIsBroken(t *testing.T) {
	address := migrated(t)
	imported(t, exitOK, "code\na\nb\nc\n", "--template", "t", "--define-template")
	ctl(t, "check").want(t, exitOK, "3 coupons", "every invariant holds")
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "update user_coupon set version = 7 where coupon_id <> 'c'"); err != nil {
		t.Fatal(err)
	}
	ctl(t, "check", "--limit", "1").want(t, exitFindings, "invariant 7: coupon a", "... and 1 more", "2 violations")
	o := ctl(t, "check", "--output", "json")
	o.want(t, exitFindings)
	report := decode[console.CheckReport](t, o)
	if report.Found != 2 || report.ByInvariant[7] != 2 || report.Violations[1].Coupon != "b" {
		t.Errorf("report %+v", report)
	}
	ctl(t, "check", "--limit=-1").want(t, exitFindings, "choose 0 to")
}

func TestTimelineOfAnImportedCoupon(t *testing.T) {
	migrated(t)
	imported(t, exitOK, "code\nSpring-1\n", "--template", "t", "--define-template")
	ctl(t, "timeline", "SPRING-1").want(t, exitOK, "coupon      Spring-1", "ISSUE - -> AVAILABLE", actor())
	line := decode[console.Timeline](t, ctl(t, "timeline", "spring-1", "--output", "json"))
	if len(line.Entries) != 1 || line.Entries[0].Version != 1 || line.Coupon.Template != "t" {
		t.Errorf("timeline %+v", line)
	}
	ctl(t, "timeline", "nowhere").want(t, exitError, `nothing is known of coupon "nowhere"`)
}
