package tidy

import (
	"go/ast"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	fileLines     = 400
	functionLines = 70
	lineRunes     = 140
)

var sizeRules = []rule{
	{
		name:   "files are short",
		reason: "a file that is read in one sitting has one subject; split it by subject",
		check: func(r tree) []string {
			return each(r.files, func(f file) []string {
				if !hasSuffix(f.name, ".go", ".sql", ".sh") {
					return nil
				}
				if lines := strings.Count(f.text, "\n"); lines > fileLines {
					return []string{finding(f.name, lines, "%d lines, at most %d", lines, fileLines)}
				}
				return nil
			})
		},
		good: map[string]string{
			"x.go":  "package x\n" + strings.Repeat("\n", fileLines-1),
			"x.md":  strings.Repeat("long\n", 2*fileLines),
			"x.sql": "SELECT 1;\n",
		},
		bad: map[string]string{
			"x.go":      "package x\n" + strings.Repeat("\n", fileLines),
			"x.sql":     strings.Repeat("\n", fileLines+1),
			"x_test.go": "package x\n" + strings.Repeat("\n", fileLines),
		},
		want: []string{"x.go:401", "x.sql:401", "x_test.go:401"},
	}, {
		name:   "functions are short",
		reason: "what fits on a screen can be checked by eye; name the steps",
		check: func(r tree) []string {
			return each(r.golang(true), func(f file) []string { return longFunctions(r, f) })
		},
		good: map[string]string{"x.go": "package x\n\n" + functionOf(functionLines)},
		bad: map[string]string{
			"x.go":      "package x\n\n" + functionOf(functionLines+1),
			"x_test.go": "package x\n\n" + functionOf(functionLines+1),
		},
		want: []string{"x.go:3: function f has 71 lines", "x_test.go:3"},
	}, {
		name:   "lines are short",
		reason: "two files must fit beside each other",
		check: func(r tree) []string {
			return each(r.golang(true), longLines)
		},
		good: map[string]string{
			"x.go": "package x\n\n//" + strings.Repeat("ü", lineRunes-2) + "\n//go:generate " +
				strings.Repeat("x", lineRunes) + "\n\nvar x = \"" + strings.Repeat("x", lineRunes) + "\"\n",
		},
		bad:  map[string]string{"x.go": "package x\n\n//" + strings.Repeat("x", lineRunes-1) + "\n"},
		want: []string{"x.go:3: 141 characters"},
	},
}

func longFunctions(r tree, f file) []string {
	var found []string
	for _, declaration := range f.ast.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first, last := r.line(function.Pos()), r.line(function.End())
		if lines := last - first + 1; lines > functionLines {
			found = append(found, finding(f.name, first, "function %s has %d lines, at most %d",
				function.Name.Name, lines, functionLines))
		}
	}
	return found
}

// literal is a string literal on one line. What is in it is data, and breaking it makes it harder to read.
var literal = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")

// longLines leaves out directives, which cannot be broken, and what is in string literals.
func longLines(f file) []string {
	var found []string
	for i, line := range strings.Split(f.text, "\n") {
		runes := utf8.RuneCountInString(literal.ReplaceAllString(line, `""`))
		if runes > lineRunes && !strings.HasPrefix(line, "//go:") {
			found = append(found, finding(f.name, i+1, "%d characters, at most %d", runes, lineRunes))
		}
	}
	return found
}

// functionOf is the text of a function with that many lines.
func functionOf(lines int) string {
	return "func f() {\n" + strings.Repeat("\n", lines-2) + "}\n"
}

func hasSuffix(name string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}
