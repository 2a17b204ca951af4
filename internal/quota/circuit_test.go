package quota

import (
	"testing"
	"time"
)

func TestCircuit(t *testing.T) {
	// Each step happens at a second: ask and what came of it. "refused" is that the
	// question was not allowed, "waits" that it is allowed and still being asked.
	type step struct {
		second int
		event  string
	}
	down := []step{{0, "fails"}, {0, "fails"}, {0, "opens"}}
	tests := []struct {
		name  string
		steps []step
	}{
		{"answers never open it", []step{{0, "answered"}, {0, "answered"}, {0, "answered"}, {0, "answered"}}},
		{"an answer in between forgets failures", []step{
			{0, "fails"}, {0, "fails"}, {0, "answered"}, {0, "fails"}, {0, "fails"}, {0, "opens"}, {0, "refused"},
		}},
		{"whoever does not wait is no failure", []step{{0, "abandons"}, {0, "abandons"}, {0, "abandons"}, {0, "answered"}}},
		{"it rests, then one may ask", append(down[:3:3],
			step{0, "refused"}, step{1, "waits"}, step{1, "refused"}, step{9, "refused"})},
		{"an answer closes it", append(down[:3:3], step{1, "closes"}, step{1, "answered"}, step{1, "fails"}, step{1, "answered"})},
		{"each failure doubles the rest, up to the most", append(down[:3:3],
			step{1, "fails"}, step{2, "refused"}, step{3, "fails"}, step{6, "refused"}, step{7, "fails"},
			step{10, "refused"}, step{11, "closes"})},
		{"after an answer the rest is short again", append(down[:3:3],
			step{1, "fails"}, step{3, "closes"}, step{3, "fails"}, step{3, "fails"}, step{3, "opens"}, step{4, "closes"})},
		{"who does not wait lets the next one ask", append(down[:3:3], step{1, "abandons"}, step{1, "closes"})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := circuit{first: time.Second, most: 4 * time.Second}
			start := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
			for i, s := range test.steps {
				now := start.Add(time.Duration(s.second) * time.Second)
				if allowed := c.allow(now); allowed != (s.event != "refused") {
					t.Fatalf("step %d, %s at second %d: allowed %t", i, s.event, s.second, allowed)
				}
				got := s.event
				switch s.event {
				case "answered", "closes":
					got = map[bool]string{false: "answered", true: "closes"}[c.succeeded()]
				case "fails", "opens":
					got = map[bool]string{false: "fails", true: "opens"}[c.failed(now)]
				case "abandons":
					c.abandoned()
				}
				if got != s.event {
					t.Fatalf("step %d at second %d: it %s, want it %s", i, s.second, got, s.event)
				}
			}
		})
	}
}

// Questions that were on their way when the circuit opened fail later.
func TestLateFailuresDoNotProlongTheRest(t *testing.T) {
	c := circuit{first: time.Second, most: time.Minute}
	start := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for range 100 {
		c.allow(start)
	}
	opened := 0
	for range 100 {
		if c.failed(start) {
			opened++
		}
	}
	if opened != 1 {
		t.Errorf("it opened %d times, want once", opened)
	}
	if !c.isOpen() || c.allow(start.Add(time.Second-1)) || !c.allow(start.Add(time.Second)) {
		t.Error("it does not rest for a second")
	}
}
