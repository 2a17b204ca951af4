package e2e

import (
	"fmt"
	"os"
	"testing"

	"couponlease/internal/fleet"
)

func TestMain(m *testing.M) {
	code, err := fleet.WithBinary(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
