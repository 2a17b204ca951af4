package config

import (
	"fmt"
	"io"
	"os"
	"strings"

	"couponlease/internal/leasetoken"
)

// Tokens says what lease tokens are made from.
type Tokens struct {
	TokenKeys string `name:"token-keys" env:"COUPONLEASE_TOKEN_KEYS" placeholder:"KEYS" redact:"" form:"keys" help:"Keys that lease tokens are made from, as base64 or hex with commas between them, at least 32 bytes each; make one with openssl rand -base64 32. The first makes new tokens, the others find old ones. The same on all replicas. Empty, with no file: a random key."`

	TokenKeysFile string `name:"token-keys-file" env:"COUPONLEASE_TOKEN_KEYS_FILE" placeholder:"FILE" form:"file" help:"File of such keys, one a line or with commas between them. They come after those of --token-keys."`
}

// LeaseKeys gives the keys that lease tokens are made from. None being configured is
// no error: then the key is random and known to this process alone. What is wrong
// with the keys is an *Error, which never shows them.
func (t Tokens) LeaseKeys() (keys leasetoken.Keys, configured bool, err error) {
	var texts []string
	if t.TokenKeys != "" {
		if _, err := leasetoken.Parse(t.TokenKeys); err != nil {
			return keys, false, &Error{[]string{"--token-keys (COUPONLEASE_TOKEN_KEYS): " + err.Error()}}
		}
		texts = append(texts, t.TokenKeys)
	}
	if t.TokenKeysFile != "" {
		const setting = "--token-keys-file (COUPONLEASE_TOKEN_KEYS_FILE): "
		text, err := readKeys(t.TokenKeysFile)
		if err != nil {
			return keys, false, &Error{[]string{setting + err.Error()}}
		}
		if _, err := leasetoken.Parse(text); err != nil {
			return keys, false, &Error{[]string{setting + err.Error()}}
		}
		texts = append(texts, strings.TrimSpace(text))
	}
	if len(texts) == 0 {
		return leasetoken.Random(), false, nil
	}
	keys, err = leasetoken.Parse(strings.Join(texts, ","))
	if err != nil {
		return keys, false, &Error{[]string{"--token-keys and --token-keys-file together: " + err.Error()}}
	}
	return keys, true, nil
}

// readKeys reads no more of a file than keys may have.
func readKeys(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("open the file of keys: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, leasetoken.MaxText+1))
	if err != nil {
		return "", fmt.Errorf("read the file of keys: %w", err)
	}
	return string(text), nil
}

// judgeKeys says what is wrong with keys, "" if nothing is. It never repeats them.
func judgeKeys(text string) string {
	if _, err := leasetoken.Parse(text); err != nil {
		return err.Error() + "; make a key with `openssl rand -base64 32`"
	}
	return ""
}
