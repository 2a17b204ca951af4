package console

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/messages"
)

// none is how people write a limit or a bound that does not exist.
const none = "none"

// Limit is a limit as people write it: a number from 0, or "none".
type Limit int64

// UnmarshalText reads a limit.
func (l *Limit) UnmarshalText(text []byte) error {
	if string(text) == none {
		*l = Limit(coupon.NoLimit)
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || n > messages.MaxNumber {
		return fmt.Errorf("%q is no limit: write a number from 0, or none", text)
	}
	*l = Limit(n)
	return nil
}

// MarshalText writes a limit as it can be read.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

func (l Limit) String() string {
	if int64(l) == coupon.NoLimit {
		return none
	}
	return strconv.FormatInt(int64(l), 10)
}

// UnmarshalYAML reads a limit, and says in which line one is wrong.
func (l *Limit) UnmarshalYAML(node *yaml.Node) error { return readScalar(node, l.UnmarshalText) }

// MarshalYAML writes a limit without quotes.
func (l Limit) MarshalYAML() (any, error) { return plainScalar(l.String()), nil }

// Percent is a share in hundredths of a percent, which people write as 20 or 12.5.
type Percent int64

// UnmarshalText reads a share.
func (p *Percent) UnmarshalText(text []byte) error {
	whole, part, _ := strings.Cut(string(text), ".")
	n, err := strconv.ParseUint(whole+(part + "00")[:2], 10, 16)
	if err != nil || len(part) > 2 || whole == "" || n > 10_000 {
		return fmt.Errorf("%q is no percentage: write a number up to 100, such as 20 or 12.5", text)
	}
	*p = Percent(n)
	return nil
}

// MarshalText writes a share as it can be read.
func (p Percent) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p Percent) String() string {
	text := fmt.Sprintf("%d.%02d", int64(p)/100, int64(p)%100)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// UnmarshalYAML reads a share, and says in which line one is wrong.
func (p *Percent) UnmarshalYAML(node *yaml.Node) error { return readScalar(node, p.UnmarshalText) }

// MarshalYAML writes a share without quotes.
func (p Percent) MarshalYAML() (any, error) { return plainScalar(p.String()), nil }

func readScalar(node *yaml.Node, read func([]byte) error) error {
	if err := read([]byte(node.Value)); err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", node.Line, err)}}
	}
	return nil
}

func plainScalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// TemplateTerms are terms of a template as people write them; nil is what they do not
// name.
type TemplateTerms struct {
	Name *string `yaml:"name,omitempty" json:"name,omitempty"`
	// AmountOff, NoThreshold and MinSpend are in minor units of Currency.
	AmountOff     *int64                 `yaml:"amount_off,omitempty" json:"amountOff,omitempty"`
	PercentOff    *Percent               `yaml:"percent_off,omitempty" json:"percentOff,omitempty"`
	NoThreshold   *int64                 `yaml:"no_threshold,omitempty" json:"noThreshold,omitempty"`
	Currency      *string                `yaml:"currency,omitempty" json:"currency,omitempty"`
	MinSpend      *int64                 `yaml:"min_spend,omitempty" json:"minSpend,omitempty"`
	Status        *coupon.TemplateStatus `yaml:"status,omitempty" json:"status,omitempty"`
	Total         *Limit                 `yaml:"total,omitempty" json:"total,omitempty"`
	PerPerson     *Limit                 `yaml:"per_person,omitempty" json:"perPerson,omitempty"`
	PerDay        *Limit                 `yaml:"per_day,omitempty" json:"perDay,omitempty"`
	UsesPerPerson *Limit                 `yaml:"uses_per_person,omitempty" json:"usesPerPerson,omitempty"`
	Budget        *Limit                 `yaml:"budget,omitempty" json:"budget,omitempty"`
	PolicyVersion *int64                 `yaml:"policy_version,omitempty" json:"policyVersion,omitempty"`
	// ValidFrom and ValidUntil are RFC 3339 times, plain dates that count whole in Zone,
	// or "none".
	ValidFrom    *string `yaml:"valid_from,omitempty" json:"validFrom,omitempty"`
	ValidUntil   *string `yaml:"valid_until,omitempty" json:"validUntil,omitempty"`
	ValidDays    *int    `yaml:"valid_days,omitempty" json:"validDays,omitempty"`
	Zone         *string `yaml:"zone,omitempty" json:"zone,omitempty"`
	Transferable *bool   `yaml:"transferable,omitempty" json:"transferable,omitempty"`
}

// edit gives what the terms change in those of now.
func (t TemplateTerms) edit(now coupon.Terms) (coupon.TermsEdit, error) {
	set := coupon.TermsEdit{
		Name: t.Name, Status: t.Status, Total: t.Total.number(), PerPerson: t.PerPerson.number(),
		PerDay: t.PerDay.number(), Budget: t.Budget.number(), UsesPerPerson: t.UsesPerPerson.number(),
		PolicyVersion: t.PolicyVersion, ValidDays: t.ValidDays, Transferable: t.Transferable,
	}
	zone, err := t.readZone(now.Zone, &set)
	if err != nil {
		return set, err
	}
	if set.ValidFrom, err = readBound("valid from", t.ValidFrom, zone, 0); err != nil {
		return set, err
	}
	if set.ValidUntil, err = readBound("valid until", t.ValidUntil, zone, 1); err != nil {
		return set, err
	}
	if t.namesDiscount() {
		discount, err := t.discount(now.Discount)
		if err != nil {
			return set, err
		}
		set.Discount = &discount
	}
	if t.PolicyVersion != nil && *t.PolicyVersion < 1 {
		return set, fmt.Errorf("policy version %d: versions begin at 1", *t.PolicyVersion)
	}
	if t.Name != nil {
		return set, checkText("name", *t.Name)
	}
	return set, nil
}

// number gives a limit as the core knows it.
func (l *Limit) number() *int64 {
	if l == nil {
		return nil
	}
	n := int64(*l)
	return &n
}

// readZone gives the zone in which dates count, and notes one that is named. The zone of
// this machine is none: another machine has another.
func (t TemplateTerms) readZone(now string, set *coupon.TermsEdit) (*time.Location, error) {
	name := now
	if t.Zone != nil {
		name = *t.Zone
	}
	zone, err := time.LoadLocation(name)
	if err != nil || zone == time.Local {
		return nil, fmt.Errorf("time zone %q is not known: write one such as Europe/Berlin, or UTC", name)
	}
	if t.Zone != nil {
		if zone == time.UTC {
			name = ""
		}
		set.Zone = &name
	}
	return zone, nil
}

func readBound(what string, text *string, zone *time.Location, wholeDays int) (*time.Time, error) {
	if text == nil {
		return nil, nil
	}
	if *text == none {
		return &time.Time{}, nil
	}
	at, known := parseInstant(*text, zone, wholeDays)
	if !known {
		return nil, fmt.Errorf("%s is %q: write 2026-12-31, 2026-12-31T23:59:59+01:00, or none", what, *text)
	}
	return &at, nil
}

func (t TemplateTerms) namesDiscount() bool {
	return t.AmountOff != nil || t.PercentOff != nil || t.NoThreshold != nil || t.Currency != nil || t.MinSpend != nil
}

// discount gives the discount of now with what is named changed. Another kind takes
// over what it can have of the one before.
func (t TemplateTerms) discount(now coupon.Discount) (coupon.Discount, error) {
	d := now
	kinds := 0
	if t.AmountOff != nil {
		d.Kind, d.Amount, d.BasisPoints = coupon.AmountOff, *t.AmountOff, 0
		kinds++
	}
	if t.NoThreshold != nil {
		d.Kind, d.Amount, d.BasisPoints, d.MinSpend = coupon.NoThreshold, *t.NoThreshold, 0, 0
		kinds++
	}
	if t.PercentOff != nil {
		d.Kind, d.Amount, d.BasisPoints = coupon.PercentOff, 0, int64(*t.PercentOff)
		kinds++
	}
	if kinds > 1 {
		return d, errors.New("a discount is an amount off, a percentage, or an amount without a threshold: name one")
	}
	if t.MinSpend != nil {
		d.MinSpend = *t.MinSpend
	}
	if d.Kind == coupon.PercentOff && d.MinSpend == 0 {
		d.Currency = "" // of no sum
	}
	if t.Currency != nil {
		d.Currency = *t.Currency
	}
	if max(d.Amount, d.MinSpend) > messages.MaxNumber {
		return d, fmt.Errorf("sums are at most %d", messages.MaxNumber)
	}
	if strings.ContainsFunc(d.Currency, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return d, fmt.Errorf("currency %q: write a code such as EUR", d.Currency)
	}
	return d, nil
}

// dependOnZone says that dates are named which count in the zone that the template has.
func (t TemplateTerms) dependOnZone() bool {
	plain := func(text *string) bool { return text != nil && len(*text) == len(time.DateOnly) }
	return t.Zone == nil && (plain(t.ValidFrom) || plain(t.ValidUntil))
}

// unlimited are terms without limits under the default return policy.
func unlimited() coupon.Terms {
	terms := coupon.Unlimited()
	terms.PolicyVersion = policy.DefaultVersion
	return terms
}

// whole gives the terms in full: what is not named does not exist, apart from the status,
// which stays, because to pause a campaign is not to say what it is.
func (t TemplateTerms) whole(status coupon.TemplateStatus) (coupon.Terms, error) {
	terms := unlimited()
	set, err := t.edit(terms)
	if err != nil {
		return terms, err
	}
	terms.Status = cmp.Or(status, terms.Status)
	return set.With(terms), nil
}
