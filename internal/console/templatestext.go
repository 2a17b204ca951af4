package console

import (
	"fmt"
	"io"
	"time"
)

// WriteText prints one template a line.
func (p TemplatePage) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"TEMPLATE", "STATUS", "VERSION", "DISCOUNT", "ISSUED", "LEFT", "IMPORTED", "HELD", "VALID UNTIL", "NAME"}}
	for _, t := range p.Templates {
		rows = append(rows, []string{
			t.ID, string(t.Terms.Status), thousands(t.Version), discountText(t.Terms.Discount),
			ofLimit(t.Issued, t.Terms.Total), limitOrNone(t.Left), thousands(t.Imported), ofLimit(t.Held, t.Terms.Budget),
			clockTime(t.Terms.ValidUntil), t.Terms.Name,
		})
	}
	out.table(rows)
	if p.Next != "" {
		out.addf("there is more: --after %s", p.Next)
	}
	return out.err
}

// WriteText prints one property a line, and the versions below.
func (t TemplateView) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("template         %s is %s, version %s", t.ID, t.Terms.Status, thousands(t.Version))
	if t.Terms.Name != "" {
		out.addf("name             %s", t.Terms.Name)
	}
	out.addf("discount         %s", discountText(t.Terms.Discount))
	left := ""
	if t.Left != nil {
		left = ", " + thousands(*t.Left) + " left"
	}
	out.addf("issued           %s%s", ofLimit(t.Issued, t.Terms.Total), left)
	out.addf("imported         %s, not counted in the total", thousands(t.Imported))
	out.addf("held             %s", ofLimit(t.Held, t.Terms.Budget))
	out.addf("per person       %s claimed, %s on one day, %s used at a time", limitOrNone(t.Terms.PerPerson),
		limitOrNone(t.Terms.PerDay), limitOrNone(t.Terms.UsesPerPerson))
	out.addf("valid            %s to %s%s", t.Terms.local(t.Terms.ValidFrom), t.Terms.local(t.Terms.ValidUntil),
		afterIssue(t.Terms.ValidDays))
	out.addf("days count in    %s", t.Terms.Zone)
	out.addf("transferable     %t", t.Terms.Transferable)
	out.addf("return policy    version %d", t.Terms.PolicyVersion)
	out.addf("generation       %d", t.Generation)
	for _, v := range t.Versions {
		out.addf("version %-8d %s by %s", v.Version, clockTime(v.At), v.Actor)
		for _, change := range v.Changes {
			out.addf("                 %s", change)
		}
	}
	return out.err
}

// local shows an instant where the template's days count.
func (t TermsView) local(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	if zone, err := time.LoadLocation(t.Zone); err == nil {
		at = at.In(zone)
	}
	return at.Format(time.RFC3339)
}

func afterIssue(days int) string {
	if days == 0 {
		return ""
	}
	return ", a coupon for " + count(days, "day")
}

func ofLimit(n int64, limit *int64) string {
	if limit == nil {
		return thousands(n)
	}
	return fmt.Sprintf("%s of %s", thousands(n), thousands(*limit))
}

func limitOrNone(limit *int64) string {
	if limit == nil {
		return none
	}
	return thousands(*limit)
}

// WriteText prints what each template needs, term by term, and the counts.
func (p TemplatePlan) WriteText(w io.Writer) error {
	out := lines{w: w}
	for i := range p.Steps {
		step := &p.Steps[i]
		outcome := ""
		if step.refused {
			outcome = ": refused, " + string(step.Outcome)
		}
		out.addf("%-10s %s%s", step.Action, step.Template, outcome)
		for _, change := range step.Changes {
			out.addf("           %s", change)
		}
		if step.Next != "" {
			out.addf("           next: %s", step.Next)
		}
	}
	verb := ""
	if p.DryRun {
		verb = "would be "
	}
	out.addf("%s: %s %screated, %s %sedited, %s unchanged, %s refused", count(len(p.Steps), "template"),
		thousands(int64(p.Created)), verb, thousands(int64(p.Edited)), verb, thousands(int64(p.Unchanged)),
		thousands(int64(p.Refused)))
	if p.Refused > 0 && !p.Done && !p.DryRun {
		out.addf("nothing was changed")
	}
	return out.err
}
