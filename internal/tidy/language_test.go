package tidy

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// unfinished are the words for work that was left lying; spelled in halves, so that this file does not contain them.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|not imple` + `mented)\b`)

// vague are package names that say nothing.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "types", "models"}

var languageRules = []rule{
	{
		name:   "nobody sleeps",
		reason: "a sleep is too long on a fast machine and too short on a slow one; wait for the condition, or use a timer",
		check: func(r tree) []string {
			return each(r.golang(true), func(f file) []string { return sleeps(r, f) })
		},
		good: map[string]string{
			"x_test.go": "package x\n\nimport (\n\t\"testing/synctest\"\n\t\"time\"\n)\n\n" +
				"func pass() {\n\tsynctest.Wait()\n\ttime.Sleep(time.Hour)\n}\n",
		},
		bad: map[string]string{
			"x.go":      "package x\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n",
			"x_test.go": "package x\n\nimport \"time\"\n\nfunc g() { time.Sleep(1) }\n",
		},
		want: []string{"x.go:5", "x_test.go:5"},
	}, {
		name:   "nothing is left unfinished",
		reason: "a note to do it later is read by everyone but its author; do it, or write it down as a limit",
		check: func(r tree) []string {
			return each(r.files, func(f file) []string {
				if !hasSuffix(f.name, ".go", ".sql", ".sh", ".md", ".yml", ".yaml", "Makefile", "Dockerfile") {
					return nil
				}
				var found []string
				for i, line := range strings.Split(f.text, "\n") {
					if word := unfinished.FindString(line); word != "" {
						found = append(found, finding(f.name, i+1, "%s", word))
					}
				}
				return found
			})
		},
		good: map[string]string{"x.sh": "mktemp /tmp/XX" + "XXXX\n", "LICENSE": "FIX" + "ME\n"},
		bad: map[string]string{
			"a.go": "package a\n\n// TO" + "DO(me): later\n",
			"b.md": "fine\n\nXX" + "X\n",
		},
		want: []string{"a.go:3", "b.md:3"},
	}, {
		name:   "no init functions",
		reason: "a program whose start depends on import order cannot be read from main",
		check: func(r tree) []string {
			return each(r.golang(true), func(f file) []string {
				var found []string
				for _, d := range f.ast.Decls {
					if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
						found = append(found, finding(f.name, r.line(fn.Pos()), "func init"))
					}
				}
				return found
			})
		},
		good: map[string]string{"x.go": "package x\n\ntype t struct{}\n\nfunc (t) init() {}\n"},
		bad:  map[string]string{"x.go": "package x\n\nfunc init() {}\n"},
		want: []string{"x.go:3"},
	}, {
		name:   "packages have telling names",
		reason: "a package called after nothing attracts everything",
		check: func(r tree) []string {
			return each(r.golang(true), func(f file) []string {
				if name := strings.TrimSuffix(f.ast.Name.Name, "_test"); slices.Contains(vague, name) {
					return []string{finding(f.name, r.line(f.ast.Package), "package %s", name)}
				}
				return nil
			})
		},
		good: map[string]string{"x.go": "package coupon\n"},
		bad:  map[string]string{"x.go": "package util\n", "y/y_test.go": "package helpers_test\n"},
		want: []string{"util", "helpers"},
	}, {
		name:   "packages say what they are for",
		reason: "the package comment is the first thing a newcomer reads",
		check:  undocumented,
		good:   map[string]string{"a/doc.go": "// Package a is fine.\npackage a\n", "a/b.go": "package a\n"},
		bad:    map[string]string{"a/a.go": "package a\n", "b/b.go": "// Something.\n\npackage b\n"},
		want:   []string{"a/a.go", "b/b.go"},
	},
}

// sleeps finds calls of time.Sleep. Tests of a package that uses synctest may: in a bubble time is not real, and a sleep
// is the way to let it pass.
func sleeps(r tree, f file) []string {
	for _, other := range r.golang(true) {
		if f.isTest() && other.isTest() && other.dir() == f.dir() && localName(other, "testing/synctest") != "" {
			return nil
		}
	}
	return r.uses(f, "time", "Sleep")
}

// undocumented names the first product file of each package that has no package comment.
func undocumented(r tree) []string {
	documented := make(map[string]bool)
	for _, f := range r.golang(false) {
		documented[f.dir()] = documented[f.dir()] || f.ast.Doc != nil
	}
	var found []string
	for _, f := range r.golang(false) {
		if !documented[f.dir()] {
			found = append(found, finding(f.name, r.line(f.ast.Package), "package %s has no comment", f.ast.Name.Name))
			documented[f.dir()] = true
		}
	}
	return found
}
