package tidy

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// codeWord is a reason as it is written.
var codeWord = regexp.MustCompile(`\b[A-Z][A-Z0-9_]+\b`)

var reasonRules = []rule{{
	name:   "every reason for a dead letter is in the runbook",
	reason: "who is called at night looks the reason up, and must find it",
	check: func(r tree) []string {
		documented := r.documentedReasons()
		var found []string
		for _, one := range r.deadReasons() {
			if !documented[one.text] {
				found = append(found, finding(one.file, one.line, "the reason %s is not in OPERATIONS.md, Reasons", one.text))
			}
		}
		return found
	},
	good: map[string]string{
		"messages/malformed.go": "package messages\n\nconst BadJSON Reason = \"BAD_JSON\"\n\nconst Limit = \"NO_REASON\"\n",
		"internal/coupon/code.go": "package coupon\n\nconst IDReuse Code = \"ID_REUSE\"\n\nconst OK Code = \"OK\"\n\n" +
			"var a = Outcome{Status: Dead, Code: IDReuse}\n\nvar b = Outcome{Status: Applied, Code: OK}\n",
		"router/verdict.go":             "package router\n\nconst ReasonHandlerError = \"HANDLER_ERROR\"\n",
		"internal/deadletter/letter.go": "package deadletter\n\nconst TTL = \"TTL\"\n\nconst New Status = \"NEW\"\n",
		"OPERATIONS.md":                 "### Reasons\n\n| BAD_JSON, TTL | x |\n| ID_REUSE | x |\n| HANDLER_ERROR | x |\n",
	},
	bad: map[string]string{
		"messages/malformed.go": "package messages\n\nconst BadJSON Reason = \"BAD_JSON\"\n",
		"internal/coupon/code.go": "package coupon\n\nconst IDReuse Code = \"ID_REUSE\"\n\n" +
			"var a = Outcome{Code: IDReuse, Status: Dead}\n",
		"router/verdict.go":             "package router\n\nconst ReasonHandlerError = \"HANDLER_ERROR\"\n",
		"internal/deadletter/letter.go": "package deadletter\n\nconst TTL = \"TTL\"\n",
		"OPERATIONS.md":                 "BAD_JSON\n\n### Reasons\n\n| X | BAD_JSON |\n\n## More\n\n| TTL | HANDLER_ERROR |\n",
	},
	want: []string{"ID_REUSE", "TTL", "BAD_JSON", "HANDLER_ERROR"},
}}

// documentedReasons are those in the first column of the table below Reasons.
func (r tree) documentedReasons() map[string]bool {
	reasons := map[string]bool{}
	_, section, _ := strings.Cut(r.text("OPERATIONS.md"), "### Reasons\n")
	section, _, _ = strings.Cut(section, "\n#")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 2 {
			continue
		}
		for _, word := range codeWord.FindAllString(cells[1], -1) {
			reasons[word] = true
		}
	}
	return reasons
}

// deadReason is one that the program can give.
type deadReason struct {
	text, file string
	line       int
}

// deadReasons are the texts of constants: of messages that cannot be read, of answers of
// the core that are final for a message, of the router, and of what the broker gave up.
func (r tree) deadReasons() (all []deadReason) {
	codes := map[string]string{}
	for _, f := range r.golang(false) {
		for _, c := range constants(f) {
			here := deadReason{c.value, f.name, r.line(c.at)}
			switch {
			case f.dir() == "internal/coupon":
				codes[c.name] = c.value
			case f.dir() == "messages" && c.kind == "Reason",
				f.dir() == "router" && strings.HasPrefix(c.name, "Reason"),
				f.name == "internal/deadletter/letter.go" && c.kind == "":
				all = append(all, here)
			}
		}
	}
	var core []deadReason
	for _, f := range r.golang(false) {
		if f.dir() != "internal/coupon" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok && field(literal, "Status") == "Dead" {
				core = append(core, deadReason{codes[field(literal, "Code")], f.name, r.line(literal.Pos())})
			}
			return true
		})
	}
	return append(core, all...)
}

// field is the name that a field of a literal is set to, empty when it is something else.
func field(literal *ast.CompositeLit, name string) string {
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, isName := pair.Key.(*ast.Ident)
		value, isIdent := pair.Value.(*ast.Ident)
		if isName && isIdent && key.Name == name {
			return value.Name
		}
	}
	return ""
}

type constant struct {
	name, kind, value string
	at                token.Pos
}

// constants are the texts that a file names.
func constants(f file) (all []constant) {
	for _, declaration := range f.ast.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			values := spec.(*ast.ValueSpec)
			for i, name := range values.Names {
				if i >= len(values.Values) {
					continue
				}
				literal, ok := values.Values[i].(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					continue
				}
				kind := ""
				if named, ok := values.Type.(*ast.Ident); ok {
					kind = named.Name
				}
				all = append(all, constant{name.Name, kind, text, name.Pos()})
			}
		}
	}
	return all
}
