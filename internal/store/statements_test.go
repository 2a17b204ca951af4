package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatementsFitTheSchema prepares every file: names and types are right, each holds
// one statement, and columns are listed.
func TestStatementsFitTheSchema(t *testing.T) {
	s := open(t)
	conn := connection(t, s)
	files, err := filepath.Glob("sql/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no statements found: %v", err)
	}
	for i, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			statement := string(content)
			if _, err := conn.Prepare(t.Context(), fmt.Sprint("s", i), statement); err != nil {
				t.Error(err)
			}
			if strings.Contains(statement, "*") && strings.Contains(statement, "select *") {
				t.Error("selects columns that it does not name")
			}
			if strings.Contains(statement, ";") {
				t.Error("holds a semicolon, so perhaps a second statement")
			}
		})
	}
}
