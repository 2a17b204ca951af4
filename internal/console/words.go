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
		if err := checkText(word.what, word.text); err != nil {
			return Usage(err)
		}
	}
	return nil
}

// checkText says what no text of a person may hold.
func checkText(what, text string) error {
	switch {
	case utf8.RuneCountInString(text) > messages.MaxID:
		return fmt.Errorf("the %s is too long: at most %d characters", what, messages.MaxID)
	case !utf8.ValidString(text), strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("the %s holds control characters", what)
	default:
		return nil
	}
}
