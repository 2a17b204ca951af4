package main

import (
	"strings"
	"testing"
)

func TestSoakComparesQuarters(t *testing.T) {
	s := Soak{Messages: 100, Peak: 160e6}
	for answered := range 100 {
		s.Samples = append(s.Samples, MemorySample{Answered: answered, Resident: int64(1000 + 10*max(answered, 25))})
	}
	// Idle at the end, and before that a start that does not count.
	s.Samples = append(s.Samples, MemorySample{Answered: 100, Resident: 1})
	s.fit()
	if s.Slope < 9.9 || s.Slope > 10.1 {
		t.Errorf("slope %v, want 10 bytes a message", s.Slope)
	}
	if s.Early != 1370 || s.Late != 1870 {
		t.Errorf("medians %v and %v, want 1370 and 1870", s.Early, s.Late)
	}
	var out strings.Builder
	if err := s.print(&out); err != nil || !strings.Contains(out.String(), "160.0 MB, NOT below") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
