package telemetry

// Names of what reconciliation has found.
const (
	FindingsOpen  = "couponlease_findings_open"
	ReconcileAge  = "couponlease_reconcile_age_seconds"
	ReconcileRuns = "couponlease_reconcile_runs_total"
)

func reconcileMetrics() []Metric {
	return []Metric{
		{Name: FindingsOpen, Kind: Gauge, Labels: []string{"fault"}, Kept: true,
			Help: "Findings of reconciliation that are not gone, counted up to 10000, the same on all replicas. " +
				"DOUBLE_USE and USED_WITHOUT_REDEMPTION must be 0."},
		{Name: ReconcileAge, Kind: Gauge, Kept: true,
			Help: "Time since the books were last reconciled, by whomever, in seconds; infinite when they never were."},
		{Name: ReconcileRuns, Kind: Counter, Labels: []string{"result"}, Kept: true,
			Help: "Runs of reconciliation by this replica: done, failed."},
	}
}
