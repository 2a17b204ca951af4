package console

import (
	"context"
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

// MaxTemplatePage bounds how many templates one page of the list has.
const MaxTemplatePage = 1000

// TermsView is what a template says. A limit that does not exist is null.
type TermsView struct {
	Name          string                `json:"name"`
	Status        coupon.TemplateStatus `json:"status"`
	Discount      coupon.Discount       `json:"discount"`
	Total         *int64                `json:"total"`
	PerPerson     *int64                `json:"perPerson"`
	PerDay        *int64                `json:"perDay"`
	UsesPerPerson *int64                `json:"usesPerPerson"`
	Budget        *int64                `json:"budget"`
	PolicyVersion int64                 `json:"policyVersion"`
	ValidFrom     time.Time             `json:"validFrom,omitzero"`
	ValidUntil    time.Time             `json:"validUntil,omitzero"`
	ValidDays     int                   `json:"validDays,omitempty"`
	Zone          string                `json:"zone"`
	Transferable  bool                  `json:"transferable"`
}

// TemplateView is a template as it is now.
type TemplateView struct {
	ID      string    `json:"template"`
	Version int64     `json:"version"`
	Terms   TermsView `json:"terms"`
	// Issued counts the coupons that claims and batches made, Left how many they may
	// still make (null without a total), Imported all other coupons, Held the uses that
	// count against the budget now.
	Issued   int64  `json:"issued"`
	Left     *int64 `json:"left"`
	Imported int64  `json:"imported"`
	Held     int64  `json:"held"`
	// Generation counts the stocks that were made for claims.
	Generation int64 `json:"generation"`
	// Versions tell what the template has said so far; a list of templates has none.
	Versions []VersionView `json:"versions,omitempty"`
}

// VersionView is what one edit made of a template.
type VersionView struct {
	Version int64        `json:"version"`
	At      time.Time    `json:"at"`
	Actor   string       `json:"actor"`
	Cause   string       `json:"cause,omitempty"`
	Changes []TermChange `json:"changes"`
	Terms   TermsView    `json:"terms"`
}

// TemplateQuery selects a page of templates.
type TemplateQuery struct {
	// Status is one that they have; "" is any. After is the Next of the page before.
	Status coupon.TemplateStatus
	After  string
	// Limit is 1 to MaxTemplatePage.
	Limit int
}

// TemplatePage is a page of templates in the order of their ids.
type TemplatePage struct {
	Templates []TemplateView `json:"templates"`
	// Next is where the next page begins; "" when there is none.
	Next string `json:"next,omitempty"`
}

// Template gives a template with all its versions, and whether it exists.
func (d *Database) Template(ctx context.Context, id string) (TemplateView, bool, error) {
	t, found, err := d.store.Template(ctx, id)
	if err != nil || !found {
		return TemplateView{}, found, err
	}
	versions, err := d.store.TemplateVersions(ctx, id)
	if err != nil {
		return TemplateView{}, false, err
	}
	view := templateView(&t)
	for i, changes := range versionChanges(versions) {
		v := &versions[i]
		view.Versions = append(view.Versions, VersionView{v.Version, v.At, v.Actor, v.Cause, changes, termsView(v.Terms)})
	}
	return view, true, nil
}

// Templates reads one page of templates.
func (d *Database) Templates(ctx context.Context, q TemplateQuery) (TemplatePage, error) {
	if q.Limit < 1 || q.Limit > MaxTemplatePage {
		return TemplatePage{}, Usage(fmt.Errorf("a page of %d templates: choose 1 to %d", q.Limit, MaxTemplatePage))
	}
	rows, err := d.store.TemplatePage(ctx, q.After, q.Status, q.Limit+1)
	if err != nil {
		return TemplatePage{}, err
	}
	page := TemplatePage{Templates: []TemplateView{}}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		page.Next = rows[q.Limit-1].ID
	}
	for _, t := range rows {
		page.Templates = append(page.Templates, templateView(t))
	}
	return page, nil
}

func templateView(t *coupon.Template) TemplateView {
	return TemplateView{
		ID: t.ID, Version: t.Version, Terms: termsView(t.Terms), Issued: t.Issued, Left: orNull(t.Left()),
		Imported: t.Imported, Held: t.Held, Generation: t.Generation,
	}
}

func termsView(t coupon.Terms) TermsView {
	return TermsView{
		Name: t.Name, Status: t.Status, Discount: t.Discount, Total: orNull(t.Total), PerPerson: orNull(t.PerPerson),
		PerDay: orNull(t.PerDay), UsesPerPerson: orNull(t.UsesPerPerson), Budget: orNull(t.Budget),
		PolicyVersion: t.PolicyVersion, ValidFrom: t.ValidFrom, ValidUntil: t.ValidUntil, ValidDays: t.ValidDays,
		Zone: zoneName(t.Zone), Transferable: t.Transferable,
	}
}

// orNull gives a limit, nil for one that does not exist.
func orNull(limit int64) *int64 {
	if limit == coupon.NoLimit {
		return nil
	}
	return &limit
}
