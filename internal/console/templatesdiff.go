package console

import (
	"fmt"
	"strconv"
	"time"

	"couponlease/internal/coupon"
)

// TermChange is one term that an edit changed, as text.
type TermChange struct {
	// Term has the name of the flag that changes it.
	Term   string `json:"term"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func (c TermChange) String() string { return fmt.Sprintf("%s %s -> %s", c.Term, c.Before, c.After) }

// termText is how one term is shown.
type termText struct {
	name string
	text func(coupon.Terms) string
}

// termTexts lists all terms in the order in which people read them.
func termTexts() []termText {
	return []termText{
		{"name", func(t coupon.Terms) string { return strconv.Quote(t.Name) }},
		{"amount-off", func(t coupon.Terms) string { return sumOf(t.Discount, coupon.AmountOff) }},
		{"percent-off", func(t coupon.Terms) string {
			if t.Discount.Kind != coupon.PercentOff {
				return none
			}
			return Percent(t.Discount.BasisPoints).String()
		}},
		{"no-threshold", func(t coupon.Terms) string { return sumOf(t.Discount, coupon.NoThreshold) }},
		{"currency", func(t coupon.Terms) string { return orNone(t.Discount.Currency) }},
		{"min-spend", func(t coupon.Terms) string { return thousands(t.Discount.MinSpend) }},
		{"status", func(t coupon.Terms) string { return string(t.Status) }},
		{"total", func(t coupon.Terms) string { return limitText(t.Total) }},
		{"per-person", func(t coupon.Terms) string { return limitText(t.PerPerson) }},
		{"per-day", func(t coupon.Terms) string { return limitText(t.PerDay) }},
		{"uses-per-person", func(t coupon.Terms) string { return limitText(t.UsesPerPerson) }},
		{"budget", func(t coupon.Terms) string { return limitText(t.Budget) }},
		{"policy-version", func(t coupon.Terms) string { return thousands(t.PolicyVersion) }},
		{"valid-from", func(t coupon.Terms) string { return boundText(t.ValidFrom) }},
		{"valid-until", func(t coupon.Terms) string { return boundText(t.ValidUntil) }},
		{"valid-days", func(t coupon.Terms) string { return strconv.Itoa(t.ValidDays) }},
		{"zone", func(t coupon.Terms) string { return zoneName(t.Zone) }},
		{"transferable", func(t coupon.Terms) string { return strconv.FormatBool(t.Transferable) }},
	}
}

// changedTerms tells term by term what is different.
func changedTerms(before, after coupon.Terms) []TermChange {
	changes := []TermChange{}
	for _, term := range termTexts() {
		if was, is := term.text(before), term.text(after); was != is {
			changes = append(changes, TermChange{term.name, was, is})
		}
	}
	return changes
}

func sumOf(d coupon.Discount, kind coupon.DiscountKind) string {
	if d.Kind != kind {
		return none
	}
	return thousands(d.Amount)
}

func limitText(n int64) string {
	if n == coupon.NoLimit {
		return none
	}
	return thousands(n)
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// boundText shows an instant exactly, so that two that differ look different.
func boundText(at time.Time) string {
	if at.IsZero() {
		return none
	}
	return at.UTC().Format(time.RFC3339Nano)
}

func zoneName(name string) string {
	if name == "" {
		return "UTC"
	}
	return name
}

// discountText tells in a few words what a coupon is worth.
func discountText(d coupon.Discount) string {
	switch d.Kind {
	case coupon.AmountOff:
		return fmt.Sprintf("%s off from %s %s", thousands(d.Amount), thousands(d.MinSpend), d.Currency)
	case coupon.NoThreshold:
		return fmt.Sprintf("%s %s off", thousands(d.Amount), d.Currency)
	case coupon.PercentOff:
		text := Percent(d.BasisPoints).String() + " % off"
		if d.MinSpend > 0 {
			text += fmt.Sprintf(" from %s %s", thousands(d.MinSpend), d.Currency)
		}
		return text
	default:
		return "-"
	}
}
