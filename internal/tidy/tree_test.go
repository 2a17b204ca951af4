package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module path; imports below it are our own packages.
const module = "couponlease"

// tree is a repository as the rules see it: each file with its text, Go files parsed.
type tree struct {
	files []file
	fset  *token.FileSet
}

// file is one file of the repository; name is its slash-separated path from the root.
type file struct {
	name string
	text string
	ast  *ast.File
}

// load reads the files that belong to the repository. Directories that tools fill are left out, and so are test data,
// which may be anything.
func load(t *testing.T, root fs.FS) tree {
	t.Helper()
	r := tree{fset: token.NewFileSet()}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", ".dev", "bin", "node_modules", "testdata"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f := file{name: name, text: string(content)}
		if strings.HasSuffix(name, ".go") {
			if f.ast, err = parser.ParseFile(r.fset, name, content, parser.ParseComments); err != nil {
				return err
			}
		}
		r.files = append(r.files, f)
		return nil
	})
	if err != nil {
		t.Fatalf("load the tree: %v", err)
	}
	return r
}

func (r tree) names() []string {
	names := make([]string, 0, len(r.files))
	for _, f := range r.files {
		names = append(names, f.name)
	}
	return names
}

// text is the content of a file, empty when there is none.
func (r tree) text(name string) string {
	for _, f := range r.files {
		if f.name == name {
			return f.text
		}
	}
	return ""
}

// golang are the Go files; product code only, or with the tests.
func (r tree) golang(withTests bool) []file {
	var files []file
	for _, f := range r.files {
		if f.ast != nil && (withTests || !f.isTest()) {
			files = append(files, f)
		}
	}
	return files
}

// each collects what check finds in every file.
func each(files []file, check func(file) []string) []string {
	var found []string
	for _, f := range files {
		found = append(found, check(f)...)
	}
	return found
}

func (r tree) line(at token.Pos) int { return r.fset.Position(at).Line }

// dir is the directory of the file: for Go, its package below the module path.
func (f file) dir() string { return path.Dir(f.name) }

// testTools are packages that tests and benchmarks are made of. They are not part of the product, and may import what
// tests may; the product must not import them.
var testTools = []string{"internal/testkit", "internal/fleet", "internal/bench", "internal/tidy"}

// isTest: test files, test tools, and packages named as Go names those that help to test another: ledgertest.
func (f file) isTest() bool {
	return strings.HasSuffix(f.name, "_test.go") || strings.HasSuffix(f.dir(), "test") || within(f.dir(), testTools...)
}

// imports are the import paths of a Go file with their lines.
func (r tree) imports(f file) map[string]int {
	paths := make(map[string]int)
	for _, spec := range f.ast.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths[name] = r.line(spec.Pos())
		}
	}
	return paths
}

// within tells whether name is parent or below it; parents are paths from the root or import paths.
func within(name string, parents ...string) bool {
	return slices.ContainsFunc(parents, func(parent string) bool {
		return name == parent || strings.HasPrefix(name, parent+"/")
	})
}
