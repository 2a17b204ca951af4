package main

import (
	"strings"
	"testing"

	"couponlease/internal/console"
)

func TestDoctorEndsWithCode2WhenSomethingHasToBeDone(t *testing.T) {
	migrated(t)
	onRabbitMQ(t)
	t.Setenv("COUPONLEASE_TOKEN_KEYS", strings.Repeat("ab", 32))
	t.Setenv("COUPONLEASE_TOKEN_KEYS_FILE", "")
	ctl(t, "doctor").want(t, exitFindings, "ok       database: PostgreSQL", "error    broker layout: ",
		"-> `couponctl topology apply`", "in ")
	ctl(t, "topology", "apply").want(t, exitOK)
	o := ctl(t, "doctor", "--output", "json")
	o.want(t, exitFindings)
	report := decode[console.HealthReport](t, o)
	if report.Errors != 1 || len(report.Diagnoses) < 10 {
		t.Errorf("only consumers are missing: %+v", report)
	}
	ctl(t, "doctor", "--timeout", "1ms").want(t, exitFindings, "choose 100ms to 5m")
	ctl(t, "doctor", "--inbox-retention-days", "0").want(t, exitFindings, "choose 1 or more")
}
