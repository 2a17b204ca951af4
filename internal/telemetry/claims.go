package telemetry

func claimMetrics() []Metric {
	return []Metric{
		{Name: ClaimsAsked, Kind: Counter, Labels: []string{"verdict"}, Kept: true,
			Help: "Claims that Redis was asked about: granted, already, sold_out, user_limit, day_limit, not_loaded, failed or skipped."},
		{Name: ClaimsRefused, Kind: Counter, Kept: true,
			Help: "Claims that were refused without asking the database."},
		{Name: ClaimsBypassed, Kind: Counter, Kept: true,
			Help: "Claims that went to the database without Redis, at a limited rate."},
		{Name: QuotaReturned, Kind: Counter, Labels: []string{"result"}, Kept: true,
			Help: "Coupons that went back into a stock in Redis: done, or lost, until the survey of stocks sees it."},
		{Name: QuotaRestocks, Kind: Counter, Kept: true,
			Help: "Stocks that this replica loaded into Redis. It moves when a campaign begins, is edited, or when Redis lost it."},
		{Name: QuotaDrifts, Kind: Gauge, Kept: true,
			Help: "Campaigns whose stock in Redis was wrong at the last survey. It is put right at once; staying above 0 is a fault."},
		{Name: QuotaAway, Kind: Gauge, Kept: true,
			Help: "1 while Redis does not answer to claims. They are still right, and slower."},
	}
}
