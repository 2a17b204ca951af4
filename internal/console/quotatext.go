package console

import (
	"fmt"
	"io"
)

// bookText shows a limit, or what is left of one, to people.
func bookText(limit *int64) string {
	if limit == nil {
		return "no limit"
	}
	return thousands(*limit)
}

// WriteText prints one campaign a line, and what to think of those that differ.
func (r QuotaReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	if len(r.Campaigns) == 0 {
		out.addf("there is no campaign whose claims are limited")
		return out.err
	}
	rows := [][]string{{
		"TEMPLATE", "STATUS", "TOTAL", "ISSUED", "LEFT", "GENERATION", "IN REDIS", "OF GENERATION", "PER PERSON", "PER DAY", "STATE",
	}}
	states := map[QuotaState]bool{}
	for i := range r.Campaigns {
		c := &r.Campaigns[i]
		row := []string{
			c.Template, string(c.Status), bookText(c.Total), thousands(c.Issued), bookText(c.Left), fmt.Sprint(c.Generation),
		}
		if c.Redis == nil {
			row = append(row, "-", "-", "-", "-")
		} else {
			row = append(row, bookText(c.Redis.Left), fmt.Sprint(c.Redis.Generation), bookText(c.Redis.PerPerson),
				bookText(c.Redis.PerDay))
		}
		rows = append(rows, append(row, string(c.State)))
		states[c.State] = true
	}
	out.table(rows)
	for _, of := range []struct {
		state QuotaState
		text  string
	}{
		{QuotaNotLoaded, "the stock is loaded when somebody claims"},
		{QuotaLower, "claims are under way, or coupons were lost: `couponctl quota drift` waits and tells which"},
		{QuotaHigher, "the database refuses what is too much; a daemon loads the stock again within seconds"},
		{QuotaOther, "a daemon loads the stock again within seconds, or when somebody claims"},
	} {
		if states[of.state] {
			out.addf("%s: %s", of.state, of.text)
		}
	}
	return out.err
}

// WriteText prints one stock that is wrong a line.
func (r QuotaDriftReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, drift := range r.Drifts {
		out.addf("%s", drift)
	}
	if len(r.Drifts) == 0 {
		out.addf("no stock in Redis is wrong (looked for %.1f s)", r.Seconds)
		return out.err
	}
	out.addf("%s: a daemon loads it again within seconds; `couponctl quota rebuild` does so now", count(len(r.Drifts), "wrong stock"))
	return out.err
}

// WriteText prints one stock a line.
func (r QuotaRebuildReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	if len(r.Rebuilt) == 0 {
		out.addf("there is no stock to load")
		return out.err
	}
	rows := [][]string{{"TEMPLATE", "BEFORE", "OF GENERATION", "NOW", "OF GENERATION"}}
	cells := func(l *QuotaLevel) []string {
		if l == nil {
			return []string{"-", "-"}
		}
		return []string{bookText(l.Left), fmt.Sprint(l.Generation)}
	}
	for _, one := range r.Rebuilt {
		rows = append(rows, append(append([]string{one.Template}, cells(one.Before)...), cells(one.After)...))
	}
	out.table(rows)
	out.addf("%s loaded from the database", count(len(r.Rebuilt), "stock"))
	return out.err
}
