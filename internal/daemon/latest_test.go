package daemon

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
	"couponlease/internal/store"
	"couponlease/internal/telemetry"
)

// TestFiguresThatCannotBeReadGoAway: between readings the age of the last run grows, and
// figures that are too old are gone from the page.
func TestFiguresThatCannotBeReadGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parts{Daemon: &Daemon{metrics: telemetry.New()}}
		figures, backlog := newLatest[reconcile.Figures](figuresInterval), newLatest[store.Backlog](backlogInterval)
		waiting := newLatest[store.Waiting](waitingInterval)
		p.watchFigures(figures)
		p.watchBacklog(backlog)
		p.readWaiting(waiting)
		has := func(when string, want bool, lines ...string) {
			t.Helper()
			page := scrape(p.metrics)
			for _, line := range lines {
				if strings.Contains(page, "\n"+line) != want {
					t.Errorf("%s: %s is there: %t, want %t", when, line, !want, want)
				}
			}
		}
		names := []string{
			telemetry.ReconcileAge + " ", telemetry.FindingsOpen + "{", telemetry.OutboxOldest + " ", telemetry.OutboxParked + " ",
			telemetry.TimersOverdue + " ", telemetry.DeadLettersOpen + "{",
		}
		has("before the first reading", false, names...)

		figures.store(reconcile.Figures{
			Reconciled: true, ReconciledAge: time.Hour, Open: map[coupon.Fault]int64{coupon.FaultDrift: 3},
		})
		backlog.store(store.Backlog{OldestRow: time.Now(), ParkedRows: 2})
		waiting.store(store.Waiting{TimersOverdue: 4})
		has("read", true, telemetry.ReconcileAge+" 3600\n", telemetry.FindingsOpen+`{fault="DRIFT"} 3`+"\n",
			telemetry.OutboxOldest+" 0\n", telemetry.OutboxParked+" 2\n", telemetry.TimersOverdue+" 4\n")
		<-time.After(30 * time.Second)
		has("half a minute later", true, telemetry.ReconcileAge+" 3630\n", telemetry.OutboxOldest+" 30\n")
		<-time.After(missedReadings * waitingInterval)
		has("much later", false, names...)
	})
}
