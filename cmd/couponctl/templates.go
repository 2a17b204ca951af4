package main

import (
	"errors"
	"fmt"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

type templatesCommand struct {
	Create  templatesCreate  `cmd:"" help:"Make a new template."`
	Show    templatesShow    `cmd:"" help:"Print a template, its counters and its versions."`
	List    templatesList    `cmd:"" help:"List templates."`
	Edit    templatesEdit    `cmd:"" help:"Change terms of a template."`
	Pause   templatesPause   `cmd:"" help:"Stop claims."`
	Resume  templatesResume  `cmd:"" help:"Allow everything again."`
	Offline templatesOffline `cmd:"" help:"Stop claims, batches and new leases."`
	Apply   templatesApply   `cmd:"" help:"Make templates what a YAML file says they are."`
	Export  templatesExport  `cmd:"" help:"Print templates as YAML that apply reads."`
}

// limitFlag is a limit, or none; nothing was named while limit is nil.
type limitFlag struct{ limit *console.Limit }

func (f *limitFlag) UnmarshalText(text []byte) error {
	f.limit = new(console.Limit)
	return f.limit.UnmarshalText(text)
}

// percentFlag is a share; nothing was named while share is nil.
type percentFlag struct{ share *console.Percent }

func (f *percentFlag) UnmarshalText(text []byte) error {
	f.share = new(console.Percent)
	return f.share.UnmarshalText(text)
}

// termFlags name terms of a template.
type termFlags struct {
	Name        *string     `group:"Discount" placeholder:"TEXT" help:"What people call the campaign."`
	AmountOff   *int64      `group:"Discount" xor:"discount" placeholder:"MINOR" help:"Take so much off orders of at least --min-spend, in minor units (500 is 5.00 EUR)."`
	Percent     percentFlag `group:"Discount" xor:"discount" placeholder:"SHARE" help:"Take so many percent off, such as 20 or 12.5."`
	NoThreshold *int64      `group:"Discount" xor:"discount" placeholder:"MINOR" help:"Take so much off any order, in minor units."`
	Currency    *string     `group:"Discount" placeholder:"CODE" help:"Currency of the sums (ISO 4217), such as EUR."`
	MinSpend    *int64      `group:"Discount" placeholder:"MINOR" help:"Least sum of an order, in minor units."`

	Total         limitFlag `group:"Limits: a number, or none" placeholder:"N" help:"Most coupons that claims and batches may issue; imported ones do not count."`
	PerPerson     limitFlag `group:"Limits: a number, or none" placeholder:"N" help:"Most coupons that one person may claim."`
	PerDay        limitFlag `group:"Limits: a number, or none" placeholder:"N" help:"Most coupons that one person may claim in a day of the zone."`
	UsesPerPerson limitFlag `group:"Limits: a number, or none" placeholder:"N" help:"Most coupons that one person may use at a time."`
	Budget        limitFlag `group:"Limits: a number, or none" placeholder:"N" help:"Most uses at a time of all coupons."`

	ValidFrom     *string `group:"Validity and rules" placeholder:"TIME" help:"Begin: RFC 3339, a date in the zone, or none."`
	ValidUntil    *string `group:"Validity and rules" placeholder:"TIME" help:"End: RFC 3339, a date that counts whole, or none."`
	ValidDays     *int    `group:"Validity and rules" placeholder:"N" help:"Days that a coupon is valid after its issue; 0 is no bound."`
	Zone          *string `group:"Validity and rules" placeholder:"AREA/CITY" help:"Where days count, such as Europe/Berlin; UTC unless named."`
	PolicyVersion *int64  `group:"Validity and rules" placeholder:"N" help:"Return policy of coupons issued from now on."`
	Transferable  *bool   `group:"Validity and rules" negatable:"" help:"Let somebody other than the owner use a coupon."`
}

func (f termFlags) terms() console.TemplateTerms {
	return console.TemplateTerms{
		Name: f.Name, AmountOff: f.AmountOff, PercentOff: f.Percent.share, NoThreshold: f.NoThreshold, Currency: f.Currency,
		MinSpend: f.MinSpend, Total: f.Total.limit, PerPerson: f.PerPerson.limit, PerDay: f.PerDay.limit,
		UsesPerPerson: f.UsesPerPerson.limit, Budget: f.Budget.limit, ValidFrom: f.ValidFrom, ValidUntil: f.ValidUntil,
		ValidDays: f.ValidDays, Zone: f.Zone, PolicyVersion: f.PolicyVersion, Transferable: f.Transferable,
	}
}

// order gives the command as it is asked under a key.
func (g given) order(key, reason, template string, terms console.TemplateTerms) console.TemplateOrder {
	return console.TemplateOrder{
		Key: key, Actor: g.who(), Reason: reason, Shards: g.OutboxShards, Template: template, Terms: terms,
	}
}

type templatesCreate struct {
	given
	maybeWhy
	termFlags
	Template string `arg:"" placeholder:"ID" help:"Id of the template."`
	Paused   bool   `help:"Let nobody claim until couponctl templates resume."`
}

func (templatesCreate) Help() string {
	return `A limit that is not named does not exist. A template that is there with the same terms is left alone; exit code 3 when
it has others. Sums are in minor units of the currency: with EUR, 500 is 5.00 euros.

  couponctl templates create spring --amount-off 500 --min-spend 5000 --currency EUR --total 10000 --per-person 1
  couponctl templates create loyal --percent 12.5 --valid-days 30 --zone Europe/Berlin --paused`
}

func (c templatesCreate) Run(s *session) error {
	return ask(c.given, s, func(d *console.Database, key string) (console.TemplateResult, error) {
		terms := c.terms()
		if c.Paused {
			status := coupon.TemplatePaused
			terms.Status = &status
		}
		return d.CreateTemplate(s.ctx, c.order(key, c.Reason, c.Template, terms))
	})
}

type templatesEdit struct {
	given
	why
	termFlags
	Template        string `arg:"" placeholder:"ID" help:"Id of the template."`
	ExpectedVersion int64  `placeholder:"N" help:"Refuse if the template has another version; any if absent."`
}

func (templatesEdit) Help() string {
	return `Changes what is named and nothing else, and makes a new version; coupons keep what they were issued under. Prints each
term as it was and as it is. Exit code 3 when it is refused: a total below what was issued (BELOW_ISSUED), a limit
on uses that nobody counted so far (NOT_COUNTED), another version (VERSION_CONFLICT).

  couponctl templates edit spring --total 20000 --reason "more budget, ticket 4720"
  couponctl templates edit spring --budget none --valid-until 2026-12-31 --expected-version 3 --reason "extended"`
}

func (c templatesEdit) Run(s *session) error {
	return c.edit(s, c.given, c.why, c.terms())
}

// edit changes a template, for a reason.
func (c templatesEdit) edit(s *session, g given, w why, terms console.TemplateTerms) error {
	if err := w.mustSay(); err != nil {
		return err
	}
	return ask(g, s, func(d *console.Database, key string) (console.TemplateResult, error) {
		order := g.order(key, w.Reason, c.Template, terms)
		order.ExpectedVersion = c.ExpectedVersion
		return d.EditTemplate(s.ctx, order)
	})
}

type templatesPause struct {
	given
	why
	Template string `arg:"" placeholder:"ID" help:"Id of the template."`
}

func (templatesPause) Help() string {
	return `Claims are refused from now on; coupons that people have can be used. A paused template is left alone (NOOP).

  couponctl templates pause spring --reason "leaked link, ticket 4721"`
}

func (c templatesPause) Run(s *session) error {
	return setStatus(s, c.given, c.why, c.Template, coupon.TemplatePaused)
}

type templatesOffline struct {
	given
	why
	Template string `arg:"" placeholder:"ID" help:"Id of the template."`
}

func (templatesOffline) Help() string {
	return `Claims, batches and new leases are refused from now on; leases that run are honoured.

  couponctl templates offline spring --reason "campaign withdrawn"`
}

func (c templatesOffline) Run(s *session) error {
	return setStatus(s, c.given, c.why, c.Template, coupon.TemplateDown)
}

type templatesResume struct {
	given
	why
	Template string `arg:"" placeholder:"ID" help:"Id of the template."`
}

func (templatesResume) Help() string {
	return `Takes pause and offline back.

  couponctl templates resume spring --reason "link closed, ticket 4721"`
}

func (c templatesResume) Run(s *session) error {
	return setStatus(s, c.given, c.why, c.Template, coupon.TemplateActive)
}

// setStatus changes nothing but the status.
func setStatus(s *session, g given, w why, template string, status coupon.TemplateStatus) error {
	return templatesEdit{Template: template}.edit(s, g, w, console.TemplateTerms{Status: &status})
}

type templatesShow struct {
	Template string `arg:"" placeholder:"ID" help:"Id of the template."`
}

func (templatesShow) Help() string {
	return `What the template says, how many coupons were issued of how many, and every version: who made it, when, and what it
changed. As JSON a limit that does not exist is null. Exit code 1 when there is no such template.

  couponctl templates show spring
  couponctl templates show spring --output json | jq .left`
}

func (c templatesShow) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		view, found, err := d.Template(s.ctx, c.Template)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("there is no template %s: `couponctl templates list` shows them", c.Template)
		}
		return s.write(view)
	})
}

type templatesList struct {
	Status string `enum:"any,ACTIVE,PAUSED,OFFLINE" default:"any" help:"Only those with this status: ${enum}."`
	Limit  int    `default:"100" help:"Templates of a page."`
	After  string `placeholder:"ID" help:"The page behind this template, as the page before says."`
}

func (templatesList) Help() string {
	return `  couponctl templates list --status ACTIVE
  couponctl templates list --output json | jq '.templates[] | select(.left == 0) | .template'`
}

func (c templatesList) Run(s *session) error {
	query := console.TemplateQuery{Status: coupon.TemplateStatus(c.Status), After: c.After, Limit: c.Limit}
	if c.Status == "any" {
		query.Status = ""
	}
	return s.withSchema(func(d *console.Database) error {
		page, err := d.Templates(s.ctx, query)
		if err != nil {
			return err
		}
		return s.write(page)
	})
}

// errOneFormat ends a command that prints YAML for another program alone.
var errOneFormat = errors.New("templates are exported as YAML alone: `couponctl templates list --output json` prints JSON")
