package deadletter

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// maxNormal is how much of an error counts for the fingerprint, in bytes.
const maxNormal = 2 << 10

var (
	quotes   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'`)
	changing = regexp.MustCompile(`[\pL\pN_@./:+-]*\d[\pL\pN_@./:+-]*`)
	spaces   = regexp.MustCompile(`\s+`)
)

// normal gives an error text without what differs between letters with one cause: ids,
// numbers, times, and what is quoted.
func normal(text string) string {
	if len(text) > maxNormal {
		text = strings.ToValidUTF8(text[:maxNormal], "")
	}
	text = quotes.ReplaceAllString(strings.ToLower(text), `""`)
	text = changing.ReplaceAllString(text, "#")
	return strings.TrimSpace(spaces.ReplaceAllString(text, " "))
}

// Fingerprint is the same for letters with the same cause: type, code, and error but
// for what differs from letter to letter.
func Fingerprint(messageType, reason, text string) string {
	sum := sha256.Sum256([]byte(messageType + "\x00" + reason + "\x00" + normal(text)))
	return hex.EncodeToString(sum[:8])
}
