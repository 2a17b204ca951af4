package console

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"couponlease/messages"
)

// checkWords says what the audit log cannot keep of who gives a command and why.
func checkWords(actor, reason string) error {
	for _, word := range []struct{ what, text string }{{"actor", actor}, {"reason", reason}} {
		switch {
		case utf8.RuneCountInString(word.text) > messages.MaxID:
			return Usage(fmt.Errorf("the %s is too long: at most %d characters", word.what, messages.MaxID))
		case !utf8.ValidString(word.text), strings.ContainsFunc(word.text, unicode.IsControl):
			return Usage(fmt.Errorf("the %s holds control characters", word.what))
		}
	}
	return nil
}
