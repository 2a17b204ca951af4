package leasetoken

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// MaxText bounds the text that Parse reads, in bytes: all keys that there may be, in
// their longest form.
const MaxText = MaxKeys * (2*MaxKey + 2)

// Parse reads keys as they are configured: base64 of either alphabet, padded or not,
// or hex, with commas or line ends between them. Text of hex digits alone is hex.
// Errors say which key is wrong and how, and never show any of it.
func Parse(text string) (Keys, error) {
	if len(text) > MaxText {
		return Keys{}, fmt.Errorf("the keys have %d characters; use at most %d", len(text), MaxText)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return New()
	}
	var keys [][]byte
	for _, element := range strings.Split(strings.ReplaceAll(text, "\n", ","), ",") {
		key, ok := decode(strings.TrimSpace(element))
		if !ok {
			return Keys{}, fmt.Errorf("key %d is neither base64 nor hex", len(keys)+1)
		}
		keys = append(keys, key)
	}
	return New(keys...)
}

func decode(text string) ([]byte, bool) {
	if key, err := hex.DecodeString(text); err == nil {
		return key, true
	}
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawStdEncoding.DecodeString(standard)
	return key, err == nil
}
