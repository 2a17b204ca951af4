// Command contracts writes what is generated from package messages: the JSON
// Schemas, the golden samples and the AsyncAPI document. With -check it writes
// nothing and fails when what is checked in differs.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	check := flag.Bool("check", false, "write nothing, fail on a difference")
	root := flag.String("root", ".", "the module's directory")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "contracts:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	stale, err := leftovers(root, files)
	if err != nil {
		return err
	}
	if check {
		return compare(root, files, stale)
	}
	return write(root, files, stale)
}

// artifacts are generated files: slash-separated path from the module's root to
// content.
type artifacts map[string][]byte

const (
	schemaDir    = "messages/schema"
	sampleDir    = "messages/testdata"
	asyncAPIFile = "messages/asyncapi.yaml"
)

// generate makes all artifacts. Root is needed for the doc comments, which
// become the descriptions.
func generate(root string) (artifacts, error) {
	files := artifacts{}
	samples := allSamples()
	if err := addSchemas(files, root, samples); err != nil {
		return nil, fmt.Errorf("schemas: %w", err)
	}
	if err := addSamples(files, samples); err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	if err := addAsyncAPI(files, samples); err != nil {
		return nil, fmt.Errorf("AsyncAPI document: %w", err)
	}
	return files, nil
}

// leftovers lists generated files that nothing generates any more.
func leftovers(root string, files artifacts) ([]string, error) {
	var stale []string
	for _, dir := range []string{schemaDir, sampleDir} {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list generated files: %w", err)
		}
		for _, entry := range entries {
			name := dir + "/" + entry.Name()
			if _, wanted := files[name]; !wanted && filepath.Ext(name) == ".json" {
				stale = append(stale, name)
			}
		}
	}
	return stale, nil
}

// compare fails with every file that differs from what would be written.
func compare(root string, files artifacts, stale []string) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		have, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("read generated file: %w", err))
		case !bytes.Equal(have, files[name]):
			faults = append(faults, fmt.Errorf("%s differs from what the code says", name))
		}
	}
	for _, name := range stale {
		faults = append(faults, fmt.Errorf("%s belongs to no message", name))
	}
	if len(faults) > 0 {
		faults = append(faults, errors.New("run: go run ./internal/contracts"))
	}
	return errors.Join(faults...)
}

func write(root string, files artifacts, stale []string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return fmt.Errorf("write generated file: %w", err)
		}
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("remove stale file: %w", err)
		}
	}
	return nil
}
