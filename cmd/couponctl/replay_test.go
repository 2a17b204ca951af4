package main

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/console"
	"couponlease/internal/store"
)

func TestReplayVerifyEndsWithCode2WhenLedgerAndRowDisagree(t *testing.T) {
	address := migrated(t)
	imported(t, exitOK, "code\na\nb\nc\n", "--template", "t", "--define-template")
	ctl(t, "replay", "verify").want(t, exitOK, "3 operations folded and compared with 3 rows", "the ledger gives every row")
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "update user_coupon set version = 7 where coupon_id <> 'c'"); err != nil {
		t.Fatal(err)
	}
	ctl(t, "replay", "verify", "--limit", "1").want(t, exitFindings,
		"DIFFERS coupon a: invariant 7: the ledger gives AVAILABLE", "... and 1 more", "2 coupons: `couponctl timeline CODE`")
	o := ctl(t, "replay", "verify", "--parallel", "4", "--output", "json")
	o.want(t, exitFindings)
	report := decode[console.LedgerReport](t, o)
	if report.Found != 2 || report.ByKind[store.LedgerDiffers] != 2 || report.Findings[1].Coupon != "b" || report.Coupons != 3 {
		t.Errorf("report %+v", report)
	}
	ctl(t, "replay", "verify", "C").want(t, exitOK, "1 operation folded and compared with 1 row")
	ctl(t, "replay", "verify", " B ").want(t, exitFindings, "DIFFERS coupon b")
	ctl(t, "replay", "verify", "nowhere").want(t, exitError, `there is no coupon "nowhere", and no ledger of it`)
	ctl(t, "replay", "verify", "--parallel", "9").want(t, exitFindings, "choose 1 to 8")
	ctl(t, "replay", "verify", "--limit=-1").want(t, exitFindings, "choose 0 to")
}

func TestTimelineOfOrderAndPayment(t *testing.T) {
	migrated(t)
	imported(t, exitOK, "code\nSpring-1\n", "--template", "t", "--define-template")
	ctl(t, "lock", "spring-1", "--order", "quote-1", "--reason", "asked by phone").want(t, exitOK)
	ctl(t, "timeline", "--order", "quote-1").want(t, exitOK, "order       quote-1", "coupon      Spring-1: LOCKED",
		"LOCK AVAILABLE -> LOCKED", "by hand: LockCoupon answered OK", "asked by phone")
	line := decode[console.Timeline](t, ctl(t, "timeline", "--order", "quote-1", "--limit", "2", "-o", "json"))
	if len(line.Entries) != 2 || line.Next != 2 || line.Coupons[0].Code != "Spring-1" {
		t.Errorf("timeline %+v", line)
	}
	ctl(t, "timeline", "--order", "nowhere").want(t, exitError, `nothing is known of order "nowhere"`)
	ctl(t, "timeline", "--payment", "nowhere").want(t, exitError, `nothing is known of payment "nowhere"`)
	ctl(t, "timeline", "spring-1", "--order", "o").want(t, exitFindings, "say whose timeline")
	ctl(t, "timeline").want(t, exitFindings, "say whose timeline")
	ctl(t, "timeline", "spring-1", "--limit", "0").want(t, exitFindings, "choose 1 to 10000")
}
