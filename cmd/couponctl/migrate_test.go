package main

import (
	"testing"

	"couponlease/internal/console"
)

func TestMigrate(t *testing.T) {
	onPostgres(t)
	status := func() console.MigrationStatus {
		return decode[console.MigrationStatus](t, ctl(t, "migrate", "status", "-o", "json"))
	}
	before := status()
	if before.Pending == 0 || before.Pending != len(before.Migrations) {
		t.Fatalf("an empty schema has %d of %d migrations pending", before.Pending, len(before.Migrations))
	}
	ctl(t, "check").want(t, exitError, "couponctl migrate up")
	ctl(t, "migrate", "up").want(t, exitOK, "applied  00001_functions.sql", " 0 pending")
	if after := status(); after.Pending != 0 {
		t.Errorf("%d migrations are pending after migrate up", after.Pending)
	}
	ctl(t, "migrate", "up").want(t, exitOK, " 0 pending")
	ctl(t, "migrate", "down").want(t, exitFindings, "--yes")
	ctl(t, "migrate", "down", "--yes").want(t, exitOK, "pending  00001_functions.sql", "0 applied")
}
