package store

import (
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

func scanTemplateRow(row scanTarget) (*coupon.Template, error) {
	var (
		t        coupon.Template
		days     int64
		discount []byte
	)
	err := row.Scan(&t.ID, &t.Version, toText{(*string)(&t.Status)}, &t.Budget, &t.UsesPerPerson, &t.Held, &t.Issued,
		&t.PolicyVersion, toTime{&t.ValidUntil}, &days, &t.Zone, &t.Transferable, &t.Name, &discount, &t.Total,
		&t.PerPerson, &t.PerDay, toTime{&t.ValidFrom}, &t.Imported, &t.Generation, &t.ToldSoldOut, &t.HeldMost, &t.UsesMost)
	if err != nil {
		return nil, err
	}
	t.ValidDays = int(days)
	if err := json.Unmarshal(discount, &t.Discount); err != nil {
		return nil, fmt.Errorf("discount of template %s: %w", t.ID, err)
	}
	return &t, nil
}

func scanVersionRow(row scanTarget) (v coupon.TemplateVersion, err error) {
	var terms []byte
	if err := row.Scan(&v.Template, &v.Version, toTime{&v.At}, &terms, &v.Actor, &v.Cause); err != nil {
		return v, err
	}
	if err := json.Unmarshal(terms, &v.Terms); err != nil {
		return v, fmt.Errorf("version %d of template %s: %w", v.Version, v.Template, err)
	}
	return v, nil
}

func scanClaimsRow(row scanTarget) (c coupon.Claims, err error) {
	err = row.Scan(&c.Template, &c.Person, &c.Count, &c.Day, &c.OnDay)
	return c, err
}

func (tx *transaction) scanTemplate(locked bool) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		t, err := scanTemplateRow(rows)
		if err != nil {
			return err
		}
		tx.templates[t.ID] = &lockable{template: t, locked: locked}
		return nil
	}
}

func (tx *transaction) scanAlias(rows pgx.Rows) error {
	var alias, person string
	err := rows.Scan(&alias, &person)
	tx.aliases[alias] = person
	return err
}

func (tx *transaction) scanClaims(rows pgx.Rows) error {
	var c coupon.Claims
	var most, claims int64
	err := rows.Scan(&c.Template, &c.Person, &c.Count, &c.Day, &c.OnDay, &most, &claims)
	tx.world.AddClaims(&c)
	tx.world.AddNumbers(c.Template, c.Person, most, claims)
	return err
}

func (tx *transaction) scanInBatch(rows pgx.Rows) error {
	var template, owner, batch, id string
	err := rows.Scan(&template, &owner, &batch, &id)
	tx.world.AddInBatch(template, owner, batch, id)
	return err
}
