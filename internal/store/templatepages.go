package store

import (
	"context"
	_ "embed"
	"fmt"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/list_templates.sql
	listTemplatesSQL string
	//go:embed sql/read_template_edits.sql
	readTemplateEditsSQL string
)

// TemplatePage lists, in the order of ids, at most limit templates behind the id after,
// those of a status alone unless it is "".
func (s *Store) TemplatePage(
	ctx context.Context, after string, status coupon.TemplateStatus, limit int,
) ([]*coupon.Template, error) {
	var rows []*coupon.Template
	err := s.each(ctx, listTemplatesSQL, list(&rows, scanTemplateRow), after, string(status), limit)
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	return rows, nil
}

// NamedTemplates gives those of the templates named that exist, by id.
func (s *Store) NamedTemplates(ctx context.Context, ids []string) (map[string]*coupon.Template, error) {
	var rows []*coupon.Template
	if err := s.each(ctx, readTemplatesSQL, list(&rows, scanTemplateRow), texts(ids), texts{}, texts{}); err != nil {
		return nil, fmt.Errorf("read %d templates: %w", len(ids), err)
	}
	named := make(map[string]*coupon.Template, len(rows))
	for _, t := range rows {
		named[t.ID] = t
	}
	return named, nil
}

// TemplateEdits gives the versions of the templates that the causes made, and the one
// before each, in the order of ids and versions.
func (s *Store) TemplateEdits(ctx context.Context, ids, causes []string) ([]coupon.TemplateVersion, error) {
	var rows []coupon.TemplateVersion
	err := s.each(ctx, readTemplateEditsSQL, list(&rows, scanVersionRow), texts(ids), texts(causes))
	if err != nil {
		return nil, fmt.Errorf("read what edits of templates changed: %w", err)
	}
	return rows, nil
}
