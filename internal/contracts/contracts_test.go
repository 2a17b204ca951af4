package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const moduleRoot = "../.."

// TestCheckedInFilesAreCurrent fails when a contract was changed without
// generating its files.
func TestCheckedInFilesAreCurrent(t *testing.T) {
	if err := run(moduleRoot, true); err != nil {
		t.Error(err)
	}
}

// copyOf writes the generated files into a directory of the test, together with
// the sources that they are generated from.
func copyOf(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	sources, err := filepath.Glob(filepath.Join(moduleRoot, "messages", "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources of package messages: %v", err)
	}
	if err := os.Mkdir(filepath.Join(root, "messages"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "messages", filepath.Base(source)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestCheckSeesEveryDifference(t *testing.T) {
	for name, spoil := range map[string]struct {
		file string
		do   func(path string) error
	}{
		"edited schema": {schemaDir + "/order.placed.v1.schema.json", appendTo},
		"edited sample": {sampleDir + "/order.placed.v1.full.json", appendTo},
		"edited doc":    {asyncAPIFile, appendTo},
		"missing":       {schemaDir + "/coupon.locked.v1.schema.json", os.Remove},
		"left over":     {sampleDir + "/coupon.eaten.v1.json", appendTo},
		"edited comment": {"messages/facts.go", func(path string) error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			edited := strings.Replace(string(text), "// OrderID names the order.", "// OrderID names an order.", 1)
			return os.WriteFile(path, []byte(edited), 0o644)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := copyOf(t)
			if err := run(root, true); err != nil {
				t.Fatalf("right after generating: %v", err)
			}
			if err := spoil.do(filepath.Join(root, spoil.file)); err != nil {
				t.Fatal(err)
			}
			if err := run(root, true); err == nil || !strings.Contains(err.Error(), "go run ./internal/contracts") {
				t.Errorf("got %v, want an error that says what to run", err)
			}
			if err := run(root, false); err != nil {
				t.Fatal(err)
			}
			if err := run(root, true); err != nil {
				t.Errorf("after generating again: %v", err)
			}
		})
	}
}

func appendTo(path string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := file.WriteString("\n"); err != nil {
		return err
	}
	return file.Close()
}
