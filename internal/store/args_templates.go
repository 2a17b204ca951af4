package store

import (
	"encoding/json"
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

// templateRow is a template whose discount is encoded.
type templateRow struct {
	coupon.TemplateChange
	discount string
}

// encodeTemplates tells new templates from changed ones.
func encodeTemplates(changes []coupon.TemplateChange) (created, changed []templateRow, err error) {
	for _, change := range changes {
		document, err := json.Marshal(change.Row.Discount)
		if err != nil {
			return nil, nil, fmt.Errorf("discount of template %s: %w", change.Row.ID, err)
		}
		row := templateRow{change, string(document)}
		if change.Base == nil {
			created = append(created, row)
		} else {
			changed = append(changed, row)
		}
	}
	return created, changed, nil
}

func templateColumns(rows []templateRow) []any {
	type row = templateRow
	number := func(of func(*coupon.Template) int64) integers {
		return collect[integers](rows, func(r row) int64 { return of(r.Row) })
	}
	return []any{
		collect[texts](rows, func(r row) string { return r.Row.ID }),
		number(func(t *coupon.Template) int64 { return t.Version }),
		collect[texts](rows, func(r row) string { return string(r.Row.Status) }),
		number(func(t *coupon.Template) int64 { return t.Budget }),
		number(func(t *coupon.Template) int64 { return t.UsesPerPerson }),
		number(func(t *coupon.Template) int64 { return t.Held }),
		number(func(t *coupon.Template) int64 { return t.Issued }),
		number(func(t *coupon.Template) int64 { return t.PolicyVersion }),
		collect[times](rows, func(r row) time.Time { return r.Row.ValidUntil }),
		number(func(t *coupon.Template) int64 { return int64(t.ValidDays) }),
		collect[texts](rows, func(r row) string { return r.Row.Zone }),
		collect[booleans](rows, func(r row) bool { return r.Row.Transferable }),
		collect[texts](rows, func(r row) string { return r.Row.Name }),
		collect[texts](rows, func(r row) string { return r.discount }),
		number(func(t *coupon.Template) int64 { return t.Total }),
		number(func(t *coupon.Template) int64 { return t.PerPerson }),
		number(func(t *coupon.Template) int64 { return t.PerDay }),
		collect[times](rows, func(r row) time.Time { return r.Row.ValidFrom }),
		number(func(t *coupon.Template) int64 { return t.Imported }),
		number(func(t *coupon.Template) int64 { return t.Generation }),
		number(func(t *coupon.Template) int64 { return t.ToldSoldOut }),
		number(func(t *coupon.Template) int64 { return t.HeldMost }),
		number(func(t *coupon.Template) int64 { return t.UsesMost }),
	}
}

// templateUpdate adds what the rows were when they were read.
func templateUpdate(rows []templateRow) []any {
	return append(templateColumns(rows),
		collect[integers](rows, func(r templateRow) int64 { return r.Base.Version }),
		collect[integers](rows, func(r templateRow) int64 { return r.Base.Issued }),
		collect[integers](rows, func(r templateRow) int64 { return r.Base.Held }),
	)
}

// versionRow is what a template says, encoded.
type versionRow struct {
	*coupon.TemplateVersion
	terms string
}

func encodeVersions(versions []*coupon.TemplateVersion) (rows []versionRow, err error) {
	for _, v := range versions {
		document, err := json.Marshal(v.Terms)
		if err != nil {
			return nil, fmt.Errorf("version %d of template %s: %w", v.Version, v.Template, err)
		}
		rows = append(rows, versionRow{v, string(document)})
	}
	return rows, nil
}

func versionColumns(rows []versionRow) []any {
	return []any{
		collect[texts](rows, func(r versionRow) string { return r.Template }),
		collect[integers](rows, func(r versionRow) int64 { return r.Version }),
		collect[times](rows, func(r versionRow) time.Time { return r.At }),
		collect[texts](rows, func(r versionRow) string { return r.terms }),
		collect[texts](rows, func(r versionRow) string { return r.Actor }),
		collect[texts](rows, func(r versionRow) string { return r.Cause }),
	}
}

func claimsColumns(rows []*coupon.Claims) []any {
	type row = *coupon.Claims
	return []any{
		collect[texts](rows, func(r row) string { return r.Template }),
		collect[texts](rows, func(r row) string { return r.Person }),
		collect[integers](rows, func(r row) int64 { return r.Count }),
		collect[texts](rows, func(r row) string { return r.Day }),
		collect[integers](rows, func(r row) int64 { return r.OnDay }),
	}
}
