package main

import (
	"slices"
	"strings"
	"testing"
)

func TestScopeCollectsFailuresAndClearsAway(t *testing.T) {
	var steps []string
	err := within("x", func(tb testing.TB) {
		tb.Cleanup(func() { steps = append(steps, "first") })
		tb.Cleanup(func() {
			steps = append(steps, "second")
			tb.Fatal("left something")
		})
		tb.Errorf("wrong %d", 1)
		tb.Fatalf("wrong %d", 2)
		steps = append(steps, "not reached")
	})
	if want := []string{"second", "first"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	for _, part := range []string{"x: ", "wrong 1", "wrong 2", "left something"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if err := within("x", func(testing.TB) {}); err != nil {
		t.Errorf("nothing went wrong, and yet: %v", err)
	}
}

func TestScopeLetsOtherPanicsPass(t *testing.T) {
	defer func() {
		if recover() != any("boom") {
			t.Error("the panic was swallowed")
		}
	}()
	_ = within("x", func(testing.TB) { panic("boom") })
}
