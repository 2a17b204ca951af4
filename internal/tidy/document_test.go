package tidy

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// documents are what people read instead of the code.
var documents = []string{"README.md", "ARCHITECTURE.md", "OPERATIONS.md", "CONTRIBUTING.md"}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code     = regexp.MustCompile("`([^`\n]+)`")
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	repoPath = regexp.MustCompile(`^(?:\.?/)?(?:(?:cmd|deploy|docs|handlers|internal|messages|migrations|router)/\S*|` +
		`[\w.-]+\.(?:md|yml|sum|mod))$`)
	makeCall   = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	identifier = regexp.MustCompile(`\.[A-Z]\w*(?:\(\))?$`)
	position   = regexp.MustCompile(`:\d+$`)
)

var documentRules = []rule{
	{
		name:   "links in the documents lead somewhere",
		reason: "a document with a dead link is a document nobody keeps",
		check: func(r tree) []string {
			return eachLine(r, func(line string) []string {
				var dead []string
				for _, match := range link.FindAllStringSubmatch(line, -1) {
					if target := match[1]; !strings.Contains(target, ":") && !r.leads(target) {
						dead = append(dead, target)
					}
				}
				return dead
			})
		},
		good: map[string]string{
			"README.md":       "[a](ARCHITECTURE.md#why-it-is-so) [b](https://example.org/x) [c](internal/x) [d](internal/x/x.go)\n",
			"ARCHITECTURE.md": "# Why it is so!\n", "internal/x/x.go": "package x\n",
		},
		bad: map[string]string{
			"README.md": "[a](GONE.md)\n[b](ARCHITECTURE.md#gone)\n", "ARCHITECTURE.md": "# Why\n",
		},
		want: []string{"README.md:1: GONE.md", "README.md:2: ARCHITECTURE.md#gone"},
	}, {
		name:   "paths in the documents exist",
		reason: "a reader who looks for the file and does not find it stops believing the rest",
		check: func(r tree) []string {
			return eachLine(r, func(line string) []string {
				var gone []string
				for _, match := range code.FindAllStringSubmatch(line, -1) {
					if name := match[1]; repoPath.MatchString(name) && !r.exists(name) {
						gone = append(gone, name)
					}
				}
				return gone
			})
		},
		good: map[string]string{
			"README.md": "`internal/x/x.go:12`, `internal/x.Do`, `internal/x.Do()`, `internal/...`, `internal/x/*.go`, " +
				"`internal/`, `order.placed.v1`, `make up`, `x/y`, `go.mod`\n",
			"internal/x/x.go": "package x\n", "go.mod": "module x\n",
		},
		bad:  map[string]string{"OPERATIONS.md": "`internal/gone.go`\n`GONE.md`, `cmd/*.txt`\n"},
		want: []string{"OPERATIONS.md:1: internal/gone.go", "OPERATIONS.md:2: GONE.md", "OPERATIONS.md:2: cmd/*.txt"},
	}, {
		name:   "make targets in the documents exist",
		reason: "the first command a newcomer types must work",
		check: func(r tree) []string {
			targets := phony(r.text("Makefile"))
			return eachLine(r, func(line string) []string {
				var gone []string
				for _, quote := range code.FindAllString(line, -1) {
					for _, match := range makeCall.FindAllStringSubmatch(quote, -1) {
						if !slices.Contains(targets, match[1]) {
							gone = append(gone, match[0])
						}
					}
				}
				return gone
			})
		},
		good: map[string]string{"README.md": "`make up` makes sense\n", "Makefile": ".PHONY: up\n"},
		bad:  map[string]string{"README.md": "`make sense`\n", "Makefile": ".PHONY: up\n"},
		want: []string{"README.md:1: make sense"},
	},
}

// eachLine reports what check objects to in the lines of the documents.
func eachLine(r tree, check func(line string) []string) []string {
	return each(r.files, func(f file) []string {
		if !slices.Contains(documents, f.name) {
			return nil
		}
		var found []string
		for i, line := range strings.Split(f.text, "\n") {
			for _, objection := range check(line) {
				found = append(found, finding(f.name, i+1, "%s", objection))
			}
		}
		return found
	})
}

// leads tells whether a relative link has a target. Only links between the documents, all at the root, need resolving.
func (r tree) leads(target string) bool {
	name, anchor, _ := strings.Cut(target, "#")
	if name != "" && !r.exists(name) {
		return false
	}
	if anchor == "" || name == "" {
		return true
	}
	for _, match := range heading.FindAllStringSubmatch(r.text(name), -1) {
		if slug(match[1]) == anchor {
			return true
		}
	}
	return false
}

// slug is the anchor that GitHub gives a heading.
func slug(title string) string {
	return strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// exists tells whether a path, as it is written in prose, names something: a file, a directory, a pattern that
// matches, a package with an identifier behind it, a file with a line number behind it.
func (r tree) exists(written string) bool {
	name := path.Clean(strings.TrimSuffix(written, "/..."))
	name = identifier.ReplaceAllString(position.ReplaceAllString(name, ""), "")
	return slices.ContainsFunc(r.files, func(f file) bool {
		matches, err := path.Match(name, f.name)
		return within(f.name, name) || (err == nil && matches)
	})
}
