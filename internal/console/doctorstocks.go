package console

import (
	"context"
	"fmt"
	"strings"

	"couponlease/internal/quota"
	"couponlease/internal/store"
)

// stocks compares what Redis holds of campaigns with the database, without patience: a stock
// that is too low may be right.
func (d *doctor) stocks(ctx context.Context, client *quota.Client) ([]Diagnosis, error) {
	apart := func(err error) ([]Diagnosis, error) {
		return []Diagnosis{{Severity: SeverityNote, Finding: "they could not be compared with the database: " + err.Error()}}, nil
	}
	if d.services.PostgresURL == "" {
		return nil, nil // which is complained about elsewhere
	}
	opened, err := store.Open(ctx, d.services.Postgres(), store.Options{
		ApplicationName: clientName, StatementTimeout: d.options.Timeout, MaxConns: 1,
	})
	if err != nil {
		return apart(err)
	}
	defer opened.Close()
	campaigns, err := opened.Rationed(ctx)
	if err != nil {
		return apart(err)
	}
	pool := quota.NewPool(client, quota.PoolOptions{
		Prefix: quota.ClaimPrefix(d.services.RedisPrefix), Timeout: redisTimeout,
	})
	lines := make([]QuotaLine, len(campaigns))
	for i, t := range campaigns {
		level, err := pool.Level(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		lines[i] = quotaLine(t, level)
	}
	return judgeStocks(lines), nil
}

// judgeStocks says which stocks no traffic explains.
func judgeStocks(campaigns []QuotaLine) []Diagnosis {
	var ahead, higher []string
	for i := range campaigns {
		switch c := &campaigns[i]; {
		case c.Redis != nil && c.Redis.Generation > c.Generation:
			ahead = append(ahead, c.Template)
		case c.State == QuotaHigher:
			higher = append(higher, c.Template)
		}
	}
	var diagnoses []Diagnosis
	if len(ahead) > 0 {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityWarning,
			Finding: "they are of a later generation than the database, as if that had been restored: " + few(ahead),
			Remedy:  "`couponctl quota rebuild --all --reason TEXT`"})
	}
	if len(higher) > 0 {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityWarning,
			Finding: "they hold more than there is left: " + few(higher),
			Remedy:  "see that a coupond with this Redis runs, which puts that right within seconds, or `couponctl quota rebuild`"})
	}
	return diagnoses
}

// few names some of many.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
