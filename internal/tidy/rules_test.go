package tidy

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A rule is one thing that holds for the whole repository.
type rule struct {
	name   string
	reason string
	// check returns one line per violation, beginning with the file it is in.
	check func(tree) []string
	// good is a tree without and bad one with violations; each element of want is part of one finding in bad, in order.
	good, bad map[string]string
	want      []string
}

// rules are all there are, in the order in which a reader would ask for them.
var rules = slices.Concat(importRules, pureRules, sizeRules, languageRules, sqlRules, moduleRules, documentRules,
	makeRules, composeRules, reasonRules)

func TestRepositoryIsTidy(t *testing.T) {
	repository := load(t, os.DirFS("../.."))
	if len(repository.files) == 0 || !slices.Contains(repository.names(), "go.mod") {
		t.Fatal("this is not the repository")
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if found := r.check(repository); len(found) > 0 {
				t.Errorf("%s\nwhy: %s", strings.Join(found, "\n"), r.reason)
			}
		})
	}
}

func TestEachRuleAcceptsAndObjects(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if r.reason == "" {
				t.Error("a rule without a reason")
			}
			if found := r.check(load(t, fixture(r.good))); len(found) > 0 {
				t.Errorf("objects to the good tree: %q", found)
			}
			found := r.check(load(t, fixture(r.bad)))
			if len(r.want) == 0 || len(found) != len(r.want) {
				t.Fatalf("found %q, want one finding each for %q", found, r.want)
			}
			for i, part := range r.want {
				if !strings.Contains(found[i], part) {
					t.Errorf("finding %d is %q, want %q in it", i, found[i], part)
				}
			}
		})
	}
}

func TestRuleNamesAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range rules {
		if seen[r.name] {
			t.Errorf("two rules are called %q", r.name)
		}
		seen[r.name] = true
	}
}

func fixture(files map[string]string) fs.FS {
	tree := make(fstest.MapFS)
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}

// finding is the one form in which violations are reported.
func finding(file string, line int, format string, arguments ...any) string {
	return fmt.Sprintf("%s:%d: %s", file, line, fmt.Sprintf(format, arguments...))
}
