package store

import (
	"strings"
	"testing"

	"couponlease/internal/deadletter"
)

// A step is bounded by the bytes of the bodies that it sends. Errors may be as large, and
// a step of many small letters does not bring them along.
func TestStepOfAReplayBringsNoErrorsAlong(t *testing.T) {
	s := open(t)
	text := strings.Repeat("at handler.go:12\n", 60_000) // 1 MB
	for i := range 8 {
		l := letter(name("m", i), `{}`, i)
		l.Fail("HANDLER_ERROR", text, l.Last)
		fileLetters(t, s, l)
	}
	sent := sendAll(t, s, start(t, s, deadletter.Plan{}).ID)
	size := 0
	for i := range sent {
		size += len(sent[i].Letter.Error) + len(sent[i].Letter.Body)
	}
	if len(sent) != 8 || size != len(sent)*len(`{}`) {
		t.Errorf("%d letters came with %d bytes, want 8 with their bodies alone", len(sent), size)
	}
}
