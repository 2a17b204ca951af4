package migrations

import (
	"fmt"
	"strconv"
	"strings"
)

// All lists the migrations of this program in order, without asking a database.
func All() ([]State, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	states := make([]State, 0, len(entries))
	for _, entry := range entries {
		number, _, _ := strings.Cut(entry.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %s has no number: %w", entry.Name(), err)
		}
		states = append(states, State{Version: version, Name: entry.Name()})
	}
	return states, nil
}
