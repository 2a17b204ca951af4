package tidy

import (
	"regexp"
	"slices"
	"strings"
)

var (
	target      = regexp.MustCompile(`(?m)^([A-Za-z][\w-]*):(?:[^=].*)?$`)
	helpLine    = regexp.MustCompile(`(?m)^([a-z-]+):.*## \S`)
	phonyTarget = regexp.MustCompile(`(?m)^\.PHONY: *(.+)$`)
)

var makeRules = []rule{{
	name:   "make help lists every target",
	reason: "`make help` is the table of contents of what can be done here",
	check: func(r tree) []string {
		makefile := r.text("Makefile")
		helped, called := firsts(helpLine, makefile), phony(makefile)
		var found []string
		for _, name := range firsts(target, makefile) {
			if !slices.Contains(called, name) {
				found = append(found, finding("Makefile", 1, "target %s is not in .PHONY", name))
			}
		}
		for _, name := range called {
			if !slices.Contains(helped, name) {
				found = append(found, finding("Makefile", 1, "target %s has no ## help", name))
			}
		}
		return found
	},
	good: map[string]string{"Makefile": "X := 1\n\n.PHONY: up down\nup: down ## start\n\tup\n\ndown: ## stop\n\tdown\n"},
	bad:  map[string]string{"Makefile": ".PHONY: up\nup: down\n\tup\n\ndown: ## stop\n\tdown\n"},
	want: []string{"down is not in .PHONY", "up has no ## help"},
}}

func phony(makefile string) []string {
	var names []string
	for _, list := range firsts(phonyTarget, makefile) {
		names = append(names, strings.Fields(list)...)
	}
	return names
}

// firsts are the first groups of all matches.
func firsts(pattern *regexp.Regexp, text string) []string {
	var groups []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		groups = append(groups, match[1])
	}
	return groups
}
