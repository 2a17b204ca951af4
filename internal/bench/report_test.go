package main

import (
	"maps"
	"strings"
	"testing"
)

func TestEachLossAmongEventsIsFound(t *testing.T) {
	want := announcements{operations: map[string]bool{"a": true, "b": true}, others: 1}
	good := func() collected {
		return collected{operations: maps.Clone(want.operations), others: map[string]bool{"x": true}}
	}
	for name, c := range map[string]struct {
		spoil func(*collected)
		want  string
	}{
		"all there":     {func(*collected) {}, ""},
		"one lost":      {func(c *collected) { delete(c.operations, "a") }, "1 of 2 ledger rows were not announced"},
		"one too many":  {func(c *collected) { c.operations["c"] = true }, "1 events of no ledger row"},
		"decision lost": {func(c *collected) { clear(c.others) }, "0 events on decisions and reviews instead of 1"},
		"out of order":  {func(c *collected) { c.disorder = 3 }, "3 events came after"},
	} {
		events := good()
		c.spoil(&events)
		faults := strings.Join(events.compare(want), "; ")
		if c.want == "" && faults != "" || !strings.Contains(faults, c.want) {
			t.Errorf("%s: found %q, want %q", name, faults, c.want)
		}
	}
}

func TestReportSaysHowFarAGoalIsMissed(t *testing.T) {
	r := Report{Rounds: 2}
	for round, ours := range []float64{1400, 1600} {
		r.Measurements = append(r.Measurements,
			Measurement{Arm: armOurs, Round: round, Rate: ours, CPU: map[string]float64{cpuWorker: 100}},
			Measurement{Arm: armStock1, Round: round, Rate: 100, CPU: map[string]float64{cpuWorker: 900, cpuPostgres: 350}},
			Measurement{Arm: armStock16, Round: round, Rate: 300})
	}
	r.Conditions.Cores = 2
	failed := Measurement{Arm: armOurs, Round: 3, Rate: 9000}
	failed.fault("invariant 7: coupon x")
	if failed.Rate != 0 {
		t.Errorf("a fault leaves a rate of %v", failed.Rate)
	}
	r.summarise(arms())
	r.Measurements = append(r.Measurements, failed)
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"15.00", "reached", "missed by 29 %", "12.50", "ours, round 3: invariant 7"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in the report:\n%s", part, out.String())
		}
	}
}

func TestUnknownArmsAreRefused(t *testing.T) {
	if _, err := choose(arms(), "ours,fastest"); err == nil {
		t.Error("an arm that does not exist was chosen")
	}
	chosen, err := choose(arms(), armOurs+","+armStock1)
	if err != nil || len(chosen) != 2 {
		t.Errorf("chose %d arms, %v", len(chosen), err)
	}
}

func TestEveryArmGetsTheSameCoupons(t *testing.T) {
	sizes, coupons := sizesOf(map[string]float64{"slow": 1, "fast": 1000}, 10)
	if sizes["slow"] != leastMessages || sizes["fast"] != 10000 {
		t.Errorf("sizes %v", sizes)
	}
	if coupons < couponsFor(11000) {
		t.Errorf("%d coupons are too few for the fastest arm", coupons)
	}
}
