package console

import (
	"context"

	"couponlease/internal/coupon"
)

// editKey names the version of a template that a command made.
type editKey struct{ template, cause string }

// templateEdits tells what commands changed in templates.
func (d *Database) templateEdits(ctx context.Context, ids, causes []string) (map[editKey][]TermChange, error) {
	versions, err := d.store.TemplateEdits(ctx, ids, causes)
	if err != nil {
		return nil, err
	}
	edits := map[editKey][]TermChange{}
	for i, changes := range versionChanges(versions) {
		edits[editKey{versions[i].Template, versions[i].Cause}] = changes
	}
	return edits, nil
}

// versionChanges tells for each of the versions, in the order of templates and versions,
// what it changed in the one before; of a first one, what it says differently from a
// template without limits. Where nobody wrote down what was said before, because that is
// from before there were versions, it tells nothing.
func versionChanges(versions []coupon.TemplateVersion) [][]TermChange {
	changes := make([][]TermChange, len(versions))
	for i := range versions {
		changes[i] = []TermChange{}
		switch {
		case versions[i].Version == 1:
			changes[i] = changedTerms(unlimited(), versions[i].Terms)
		case i > 0 && versions[i-1].Template == versions[i].Template && versions[i-1].Version == versions[i].Version-1:
			changes[i] = changedTerms(versions[i-1].Terms, versions[i].Terms)
		}
	}
	return changes
}
