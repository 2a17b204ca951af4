package main

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// scope is what one measurement stands on: it takes the failures of the fixtures
// that testkit and fleet give to tests, and clears away after them. The embedded
// interface is nil; the fixtures use nothing that is not defined here.
type scope struct {
	testing.TB
	name     string
	failures []error
	cleanups []func()
}

// abandoned is the panic that carries a fatal failure to the end of its scope.
type abandoned struct{}

// within runs do in a scope of its own and returns its failures, those of the
// clean-up included.
func within(name string, do func(testing.TB)) error {
	s := &scope{name: name}
	s.guard(func() { do(s) })
	for len(s.cleanups) > 0 {
		last := s.cleanups[len(s.cleanups)-1]
		s.cleanups = s.cleanups[:len(s.cleanups)-1]
		s.guard(last)
	}
	if len(s.failures) > 0 {
		return fmt.Errorf("%s: %w", name, errors.Join(s.failures...))
	}
	return nil
}

func (s *scope) guard(do func()) {
	defer func() {
		if value := recover(); value != nil && value != any(abandoned{}) {
			panic(value)
		}
	}()
	do()
}

func (s *scope) Name() string { return s.name }

func (s *scope) Helper() {}

func (s *scope) Failed() bool { return len(s.failures) > 0 }

func (s *scope) Cleanup(do func()) { s.cleanups = append(s.cleanups, do) }

func (s *scope) Error(args ...any) { s.failures = append(s.failures, errors.New(fmt.Sprint(args...))) }

func (s *scope) Errorf(format string, args ...any) {
	s.failures = append(s.failures, fmt.Errorf(format, args...))
}

func (s *scope) Fatal(args ...any) {
	s.Error(args...)
	panic(abandoned{})
}

func (s *scope) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	panic(abandoned{})
}

func (s *scope) Log(args ...any) { fmt.Fprintln(os.Stderr, args...) }

func (s *scope) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (s *scope) TempDir() string {
	dir, err := os.MkdirTemp("", "couponlease-bench-")
	if err != nil {
		s.Fatalf("make a temporary directory: %v", err)
	}
	s.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			s.Errorf("remove a temporary directory: %v", err)
		}
	})
	return dir
}
