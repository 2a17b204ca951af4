package telemetry

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the metrics into OPERATIONS.md instead of comparing")

const (
	document = "../../OPERATIONS.md"
	// The table stands between these.
	begins = "<!-- metrics: go test ./internal/telemetry -run Documented -update -->\n"
	ends   = "<!-- end of metrics -->\n"
)

// rendered is the table as people read it.
func rendered() string {
	var text strings.Builder
	text.WriteString("| metric | kind | labels | it says |\n|---|---|---|---|\n")
	for _, m := range Table() {
		labels := strings.Join(m.Labels, ", ")
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, labels, m.Help)
	}
	return text.String()
}

func TestMetricsAreDocumented(t *testing.T) {
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begins)
	table, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		t.Fatalf("OPERATIONS.md has no place for the metrics: %q and %q", begins, ends)
	}
	if *update {
		if err := os.WriteFile(document, []byte(before+begins+rendered()+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rendered(), table); diff != "" {
		t.Errorf("run go test ./internal/telemetry -run Documented -update (-table +OPERATIONS.md):\n%s", diff)
	}
}
