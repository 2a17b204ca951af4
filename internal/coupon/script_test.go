package coupon_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the answers into the tables, and the diagram into the documents")

// scenery is what a story is played on: it does one step and gives the cells that come of
// it, or nil for a step that only prepares the others.
type scenery interface {
	step(where string, words []string) []string
}

// TestTables plays the tables in testdata. A table is text: a line with == begins
// a story, each line after it is one step, and behind the first bar stands what
// came of it: answer, coupons, ledger rows, events, reviews. Lines with # are for
// people. The invariants hold after every step.
func TestTables(t *testing.T) {
	playTables(t, "testdata/*.txt", func(t *testing.T) scenery { return newStage(t) })
}

func playTables(t *testing.T, pattern string, set func(*testing.T) scenery) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var played strings.Builder
			for _, story := range stories(string(text)) {
				played.WriteString(story.play(set(t)))
			}
			switch {
			case *update:
				if err := os.WriteFile(path, []byte(played.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			case played.String() != string(text):
				t.Errorf("%s (-want +got, -update accepts):\n%s", path,
					cmp.Diff(strings.Split(string(text), "\n"), strings.Split(played.String(), "\n")))
			}
		})
	}
}

// story is one part of a table: its title, and its lines.
type story struct {
	title string
	lines []string
}

func stories(text string) []story {
	parts := []story{{}}
	for _, line := range strings.SplitAfter(text, "\n") {
		if title, begins := strings.CutPrefix(line, "== "); begins {
			parts = append(parts, story{title: strings.TrimSpace(title)})
		}
		last := &parts[len(parts)-1]
		last.lines = append(last.lines, line)
	}
	return parts
}

// play runs the steps of a story and gives its text with what came of them.
func (s story) play(stage scenery) string {
	rows := make([][]string, len(s.lines))
	var widths []int
	for i, line := range s.lines {
		step, _, _ := strings.Cut(line, "|")
		step = strings.TrimSpace(step)
		if step == "" || strings.HasPrefix(step, "#") || strings.HasPrefix(step, "==") {
			continue
		}
		cells := stage.step(fmt.Sprintf("%s: %s", s.title, step), strings.Fields(step))
		if cells == nil {
			continue
		}
		rows[i] = append([]string{step}, cells...)
		for column, cell := range rows[i] {
			if column == len(widths) {
				widths = append(widths, 0)
			}
			widths[column] = max(widths[column], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for i, cells := range rows {
		if cells == nil {
			text.WriteString(s.lines[i])
			continue
		}
		var line strings.Builder
		for column, cell := range cells {
			if column > 0 {
				line.WriteString(" | ")
			}
			fmt.Fprintf(&line, "%-*s", widths[column], cell)
		}
		text.WriteString(strings.TrimRight(line.String(), " |") + "\n")
	}
	return text.String()
}
