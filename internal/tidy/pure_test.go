package tidy

import (
	"go/ast"
	"strconv"
	"strings"
)

// core are the packages that decide: the same input must give the same output, always and everywhere.
var core = []string{"internal/coupon", "internal/policy", "messages", "handlers"}

// beside is below the core and no part of it: a client is nothing but input and output.
var beside = []string{"messages/client"}

// impure are the standard library's doors to the outside.
var impure = []string{
	"context", "crypto/rand", "math/rand", "os", "io/ioutil", "net", "database/sql", "log", "syscall", "testing",
	"runtime", "unsafe",
}

// harmless is below an impure path and needed: by its LogValue a token keeps itself out of logs.
const harmless = "log/slog"

// clock are the functions of package time that read it or wait for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

var pureRules = []rule{
	{
		name:   "the core imports nothing impure",
		reason: "now, ids and tokens are arguments: only so can every order of facts be enumerated and every case replayed",
		check: func(r tree) []string {
			return each(r.pure(), func(f file) []string {
				var found []string
				for imported, line := range r.imports(f) {
					if within(imported, impure...) && imported != harmless {
						found = append(found, finding(f.name, line, "the core must not import %s", imported))
					}
				}
				return found
			})
		},
		good: map[string]string{
			"internal/coupon/x.go":      "package coupon\n\nimport (\n\t_ \"log/slog\"\n\t_ \"time\"\n)\n",
			"internal/coupon/x_test.go": "package coupon\n\nimport _ \"os\"\n",
			"internal/engine/x.go":      "package engine\n\nimport _ \"context\"\n",
			"messages/gen/main.go":      "package main\n\nimport _ \"os\"\n",
			"messages/client/x.go":      "package client\n\nimport _ \"context\"\n",
		},
		bad: map[string]string{
			"handlers/x.go":        "package handlers\n\nimport _ \"context\"\n",
			"internal/coupon/x.go": "package coupon\n\nimport _ \"math/rand/v2\"\n",
			"internal/policy/x.go": "package policy\n\nimport _ \"crypto/rand\"\n",
			"messages/x.go":        "package messages\n\nimport _ \"net/http\"\n",
		},
		want: []string{"context", "math/rand/v2", "crypto/rand", "net/http"},
	}, {
		name:   "the core has no clock",
		reason: "only the database's clock judges deadlines, and a test must be able to choose the time",
		check: func(r tree) []string {
			return each(r.pure(), func(f file) []string {
				return r.uses(f, "time", clock...)
			})
		},
		good: map[string]string{
			"internal/coupon/x.go": "package coupon\n\nimport \"time\"\n\nvar second = time.Second\n\n" +
				"func after(a, b time.Time) bool { return a.After(b) }\n",
			"internal/engine/x.go": "package engine\n\nimport \"time\"\n\nvar now = time.Now\n",
		},
		bad: map[string]string{
			"internal/coupon/x.go": "package coupon\n\nimport \"time\"\n\nvar now = time.Now\n",
			"internal/policy/x.go": "package policy\n\nimport t \"time\"\n\nfunc age(at t.Time) t.Duration {\n" +
				"\treturn t.Since(at)\n}\n",
		},
		want: []string{"time.Now", "time.Since"},
	},
}

// pure are the product files of the core; a command beside it, such as a generator, is not part of it.
func (r tree) pure() []file {
	var files []file
	for _, f := range r.golang(false) {
		if within(f.dir(), core...) && !within(f.dir(), beside...) && f.ast.Name.Name != "main" {
			files = append(files, f)
		}
	}
	return files
}

// uses finds the places where f names one of the functions of an imported package, whatever it calls the package.
func (r tree) uses(f file, imported string, functions ...string) []string {
	var found []string
	local := localName(f, imported)
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if name, ok := selected(n, local); ok && within(name, functions...) {
			found = append(found, finding(f.name, r.line(n.Pos()), "%s.%s", imported, name))
		}
		return true
	})
	return found
}

// selected is the name that n selects from the package called local.
func selected(n ast.Node, local string) (string, bool) {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok || local == "" {
		return "", false
	}
	// The parser resolves names declared in the same file: a variable that shadows the package has an object.
	left, ok := selector.X.(*ast.Ident)
	if !ok || left.Name != local || left.Obj != nil {
		return "", false
	}
	return selector.Sel.Name, true
}

// localName is the name under which f knows an imported package, empty when it does not import it.
func localName(f file, imported string) string {
	for _, spec := range f.ast.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err != nil || name != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return imported[strings.LastIndex(imported, "/")+1:]
	}
	return ""
}
