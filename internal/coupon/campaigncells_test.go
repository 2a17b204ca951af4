package coupon_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// hashOf tells the contents of facts apart; terms to edit are pointers, so that printing
// them would not.
func hashOf(fact coupon.Fact) [sha256.Size]byte {
	content, err := json.Marshal(fact)
	if err != nil {
		panic(err)
	}
	return sha256.Sum256(fmt.Appendf(content, "%T", fact))
}

// moment reads so many seconds after the start, or a time of day anywhere.
func (f *fair) moment(text string) time.Time {
	if seconds, err := strconv.Atoi(text); err == nil {
		return f.start.Add(time.Duration(seconds) * time.Second)
	}
	const minutes = "2006-01-02T15:04Z07:00"
	for _, layout := range []string{time.RFC3339, minutes} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	f.t.Fatalf("%s: %q is no time", f.where, text)
	return time.Time{}
}

func (f *fair) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f.t.Fatalf("%s: %v", f.where, err)
	}
	return n
}

// cells shows what a step wrote: the template, claims, coupons, events.
func (f *fair) cells(changes *coupon.Changes) []string {
	var templates, claims, coupons, events []string
	for _, change := range changes.Templates {
		templates = append(templates, stand(change.Row))
	}
	for _, c := range changes.Claims {
		claims = append(claims, fmt.Sprintf("%s %d, %d on %s", c.Person, c.Count, c.OnDay, c.Day))
	}
	for _, change := range changes.Coupons {
		if change.Base == 0 {
			coupons = append(coupons, made(change.Row))
		}
	}
	for _, event := range changes.Events {
		name := strings.TrimPrefix(string(event.Kind), "Coupon")
		switch event.Kind {
		case coupon.EventClaimRejected:
			name += fmt.Sprintf(" %s %s", event.Customer, event.Refused)
		case coupon.EventSoldOut:
			name += fmt.Sprintf(" %d g%d", event.Total, event.Generation)
		}
		events = append(events, strings.Join(strings.Fields(name), " "))
	}
	return []string{list(templates), list(claims), list(coupons), list(events)}
}

// stand is how a template stands: version, generation, issued of total.
func stand(t *coupon.Template) string {
	text := fmt.Sprintf("%s v%d g%d %d/%s", t.ID, t.Version, t.Generation, t.Issued, limit(t.Total))
	if t.Imported > 0 {
		text += fmt.Sprintf(" imported %d", t.Imported)
	}
	if t.Budget != coupon.NoLimit {
		text += fmt.Sprintf(" held %d/%d", t.Held, t.Budget)
	}
	if t.HeldMost > 0 {
		text += fmt.Sprintf(" most %d", t.HeldMost)
	}
	return text
}

func limit(n int64) string {
	if n == coupon.NoLimit {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// made is a new coupon: code, owner, origin and number, the template's version, and its end.
func made(c *coupon.Coupon) string {
	text := c.ID
	if c.Owner != "" {
		text += " " + c.Owner
	}
	text += " " + string(c.Origin)
	if c.ClaimNo > 0 {
		text += fmt.Sprintf("#%d", c.ClaimNo)
	}
	text += fmt.Sprintf(" v%d", c.TemplateVersion)
	if c.PolicyVersion != 1 {
		text += fmt.Sprintf(" policy %d", c.PolicyVersion)
	}
	if !c.ValidUntil.IsZero() {
		text += " until " + c.ValidUntil.UTC().Format("01-02T15:04Z")
	}
	return text
}
