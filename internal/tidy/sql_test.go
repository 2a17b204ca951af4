package tidy

import (
	"path"
	"regexp"
	"strings"
)

// quoted finds string literals, raw or not, and the patterns of embed directives.
var quoted = regexp.MustCompile("\"[^\"\n]*\"|`[^`]*`|(?m:^\\s*//go:embed .*$)")

var sqlRules = []rule{{
	name:   "every query is used",
	reason: "a query that no product code names is dead",
	check: func(r tree) []string {
		named := make(map[string]bool)
		for _, f := range r.golang(false) {
			for _, literal := range quoted.FindAllString(f.text, -1) {
				for word := range strings.FieldsSeq(strings.Trim(literal, "\"`")) {
					named[strings.TrimSuffix(path.Base(word), ".sql")] = true
				}
			}
		}
		return each(r.files, func(f file) []string {
			if !within(f.name, "internal/store") || !hasSuffix(f.name, ".sql") {
				return nil
			}
			if base := strings.TrimSuffix(path.Base(f.name), ".sql"); !named[base] {
				return []string{finding(f.name, 1, "no product code names it")}
			}
			return nil
		})
	},
	good: map[string]string{
		"internal/store/sql/load.sql":  "SELECT 1;\n",
		"internal/store/sql/write.sql": "SELECT 1;\n",
		"internal/store/one.sql":       "SELECT 1;\n",
		"internal/store/x.go": "package store\n\nimport _ \"embed\"\n\nvar (\n\t//go:embed one.sql\n\tone string\n)\n\n" +
			"var two, three = query(\"load\"), query(\"sql/write.sql\")\n",
	},
	bad: map[string]string{
		"internal/store/sql/load.sql": "SELECT 1;\n",
		"internal/store/x.go":         "package store\n\n//go:embed sql/*.sql\nvar all embed.FS\n",
	},
	want: []string{"internal/store/sql/load.sql"},
}}

var replaces = regexp.MustCompile(`^\s*(replace|exclude)\b`)

var moduleRules = []rule{{
	name:   "go.mod replaces nothing",
	reason: "`go install` ignores replacements: what users build would not be what we tested",
	check: func(r tree) []string {
		var found []string
		for i, line := range strings.Split(r.text("go.mod"), "\n") {
			if replaces.MatchString(line) {
				found = append(found, finding("go.mod", i+1, "%s", strings.TrimSpace(line)))
			}
		}
		return found
	},
	good: map[string]string{"go.mod": "module x\n\nrequire a.example/replace v1.0.0\n"},
	bad:  map[string]string{"go.mod": "module x\n\nreplace a => ../a\n\nexclude b v1.0.0\n"},
	want: []string{"go.mod:3", "go.mod:5"},
}}
