package console

import (
	"context"
	"fmt"
	"io"
)

// ExportTemplates writes the templates named, or all, so that ReadTemplates reads them. More
// than one file may hold, or a name that is none, is an ErrUsage.
func (d *Database) ExportTemplates(ctx context.Context, ids []string, w io.Writer) error {
	views, err := d.exported(ctx, ids)
	if err != nil {
		return err
	}
	return WriteTemplates(w, views)
}

func (d *Database) exported(ctx context.Context, ids []string) ([]TemplateView, error) {
	if len(ids) == 0 {
		page, err := d.Templates(ctx, TemplateQuery{Limit: MaxFileTemplates})
		if err == nil && page.Next != "" {
			err = Usage(fmt.Errorf("there are more than %d templates, and no more fit into a file: name those to export",
				MaxFileTemplates))
		}
		return page.Templates, err
	}
	known, err := d.store.NamedTemplates(ctx, ids)
	if err != nil {
		return nil, err
	}
	views := make([]TemplateView, len(ids))
	for i, id := range ids {
		if known[id] == nil {
			return nil, Usage(fmt.Errorf("there is no template %s: `couponctl templates list` shows them", id))
		}
		views[i] = templateView(known[id])
	}
	return views, nil
}
