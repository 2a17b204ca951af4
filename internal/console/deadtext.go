package console

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"couponlease/internal/deadletter"
)

// maxCell bounds a text in a table.
const maxCell = 80

// cell gives text that fits into a table: one line, and not too long.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxCell {
		text = string(runes[:maxCell-1]) + "…"
	}
	return orDash(text)
}

func (l DeadLetter) state() string {
	if l.Redacted {
		return string(l.Status) + " (no token)"
	}
	return string(l.Status)
}

// WriteText prints one letter a line.
func (p DeadPage) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"ID", "FAILED", "STATUS", "TYPE", "REASON", "FAILURES", "ORDER", "COUPONS", "ERROR"}}
	for _, l := range p.Letters {
		rows = append(rows, []string{
			l.ID, clockTime(l.Last), l.state(), orDash(l.Type), l.Reason, thousands(l.Failures), cell(l.Order),
			cell(strings.Join(l.Coupons, " ")), cell(l.Error),
		})
	}
	out.table(rows)
	if p.Next != "" {
		out.addf("there is more: --cursor %s", p.Next)
	}
	return out.err
}

// WriteText prints one group a line.
func (g DeadGroups) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"GROUP", "LETTERS", "TYPE", "REASON", "FIRST", "LAST", "SAMPLE", "ERROR"}}
	for _, group := range g.Groups {
		rows = append(rows, []string{
			group.Group, thousands(group.Letters), orDash(group.Type), group.Reason, clockTime(group.First),
			clockTime(group.Last), group.Sample, cell(group.Error),
		})
	}
	out.table(rows)
	return out.err
}

// WriteText prints one kind a line, and the total.
func (s DeadStats) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"STATUS", "TYPE", "REASON", "LETTERS", "OLDEST", "LAST"}}
	for _, c := range s.Counts {
		rows = append(rows, []string{
			string(c.Status), orDash(c.Type), c.Reason, thousands(c.Letters), clockTime(c.Oldest), clockTime(c.Last),
		})
	}
	out.table(rows)
	out.addf("%s", count(s.Letters, "dead letter"))
	return out.err
}

// WriteText prints one property a line, then history, error, headers and body.
func (v DeadView) WriteText(w io.Writer) error {
	out := lines{w: w}
	status := string(v.Status)
	if v.Outcome != "" {
		status += ", last outcome " + string(v.Outcome)
	}
	token := ""
	switch {
	case v.Answered:
		token = "not kept, and it was applied all the same: a replay resolves it without sending it"
	case v.Redacted:
		token = deadletter.ErrRedacted.Error()
	}
	for _, line := range [][2]string{
		{"letter", v.ID}, {"message", v.MessageID}, {"type", v.Type}, {"status", status}, {"reason", v.Reason},
		{"group", v.Group}, {"queue", v.Queue}, {"sent to", strings.Trim(v.Exchange+" "+v.RoutingKey, " ")},
		{"order", v.Order}, {"coupons", strings.Join(v.Coupons, " ")}, {"failed", fmt.Sprintf("first %s, last %s, %s",
			clockTime(v.First), clockTime(v.Last), count(v.Failures, "time"))},
		{"tried", fmt.Sprintf("%s before the last failure", count(v.Attempts, "time"))},
		{"process", strings.Trim(v.Host+" "+v.Version, " ")}, {"edited from", v.Edited}, {"replay", v.Job}, {"note", v.Note},
		{"token", token},
	} {
		if line[1] != "" {
			out.addf("%-12s%s", line[0], line[1])
		}
	}
	out.addf("")
	for _, f := range v.Failed {
		from := f.Host
		if f.Job != "" {
			from = strings.TrimSpace(from + " after replay " + f.Job)
		}
		out.addf("%s  %s  %s  %s", clockTime(f.At), f.Reason, orDash(from), cell(f.Error))
	}
	out.addf("\nerror\n%s", v.Error)
	if len(v.Headers) > 0 {
		out.addf("\nheaders")
	}
	for _, name := range slices.Sorted(maps.Keys(v.Headers)) {
		out.addf("%s: %s", name, v.Headers[name])
	}
	out.addf("\nbody, %s", count(v.BodySize, "byte"))
	if v.Body != nil {
		out.addf("%s", v.Body)
	} else {
		out.addf("%q", v.BodyText)
	}
	return out.err
}

// WriteText tells what was done.
func (c DeadChange) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("%s now %s", count(c.Letters, "dead letter"), c.Status)
	return out.err
}

// WriteText prints one prediction as a line of its own.
func (p Prediction) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("%-15s  %s  %s  %s  %s", p.Verdict, p.ID, orDash(p.MessageID), orDash(p.Type), cell(p.Detail))
	return out.err
}

// WriteText prints one verdict a line.
func (f Forecast) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("%s; nothing was changed", count(f.Letters, "dead letter"))
	for _, verdict := range slices.Sorted(maps.Keys(f.Verdicts)) {
		out.addf("%-15s  %s", verdict, thousands(f.Verdicts[verdict]))
	}
	return out.err
}

// WriteText prints one replay a line.
func (p JobPage) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"JOB", "STARTED", "STATUS", "LETTERS", "SENT", "SETTLED", "FAILED AGAIN", "ACTOR", "REASON"}}
	for _, j := range p.Jobs {
		rows = append(rows, []string{
			j.ID, clockTime(j.Created), j.state(), thousands(j.Total), thousands(j.Sent), thousands(j.Settled),
			thousands(j.Failed), j.Actor, cell(j.Reason),
		})
	}
	out.table(rows)
	if p.Next != "" {
		out.addf("there is more: --cursor %s", p.Next)
	}
	return out.err
}

func (v JobView) state() string {
	if v.PausedFor == "" {
		return string(v.Status)
	}
	return string(v.Status) + " (" + v.PausedFor + ")"
}

// WriteText prints one property a line, and what to do next.
func (v JobView) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("replay      %s", v.ID)
	out.addf("status      %s", v.state())
	out.addf("letters     %s, %s sent, %s settled", thousands(v.Total), thousands(v.Sent), thousands(v.Settled))
	for _, outcome := range slices.Sorted(maps.Keys(v.Outcomes)) {
		out.addf("            %s %s", outcome, thousands(v.Outcomes[outcome]))
	}
	if !v.Waiting.IsZero() {
		out.addf("waiting     since %s for the outcome of the oldest", clockTime(v.Waiting))
	}
	out.addf("rate        %s a second", thousands(v.Rate))
	out.addf("started     %s by %s: %s", clockTime(v.Created), v.Actor, v.Reason)
	for _, p := range v.Problems {
		out.addf("failed      %s  %s", p.Letter, cell(p.Detail))
	}
	for _, p := range v.Skipped {
		out.addf("skipped     %s  %s", p.Letter, cell(p.Detail))
	}
	switch {
	case v.Status == deadletter.Paused:
		out.addf("next        look at the outcomes, then `couponctl jobs resume %s` or `couponctl jobs abort %s`", v.ID, v.ID)
	case v.Status == deadletter.Running:
		out.addf("next        the daemons carry it out: `couponctl jobs show %s` tells how far they are", v.ID)
	}
	return out.err
}
