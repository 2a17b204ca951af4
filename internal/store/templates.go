package store

import (
	"context"
	_ "embed"
	"fmt"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/insert_template_versions.sql
	insertTemplateVersionsSQL string
	//go:embed sql/read_template_versions.sql
	readTemplateVersionsSQL string
	//go:embed sql/dump_template_versions.sql
	dumpTemplateVersionsSQL string
	//go:embed sql/read_aliases.sql
	readAliasesSQL string
	//go:embed sql/read_claims.sql
	readClaimsSQL string
	//go:embed sql/read_batches.sql
	readBatchesSQL string
	//go:embed sql/write_claims.sql
	writeClaimsSQL string
	//go:embed sql/dump_claims.sql
	dumpClaimsSQL string
)

// Template gives a template, and whether it exists.
func (s *Store) Template(ctx context.Context, id string) (t coupon.Template, found bool, err error) {
	var rows []*coupon.Template
	if err := s.each(ctx, readTemplatesSQL, list(&rows, scanTemplateRow), texts{id}, texts{}, texts{}); err != nil {
		return t, false, fmt.Errorf("read template %s: %w", id, err)
	}
	if len(rows) == 0 {
		return t, false, nil
	}
	return *rows[0], true, nil
}

// Templates lists all templates in the order of their ids.
func (s *Store) Templates(ctx context.Context) ([]*coupon.Template, error) {
	var rows []*coupon.Template
	if err := s.each(ctx, dumpTemplatesSQL, list(&rows, scanTemplateRow)); err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	return rows, nil
}

// TemplateVersions gives what a template has said, version by version.
func (s *Store) TemplateVersions(ctx context.Context, id string) ([]coupon.TemplateVersion, error) {
	var rows []coupon.TemplateVersion
	if err := s.each(ctx, readTemplateVersionsSQL, list(&rows, scanVersionRow), id); err != nil {
		return nil, fmt.Errorf("read the versions of template %s: %w", id, err)
	}
	return rows, nil
}
