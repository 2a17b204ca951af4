package leasetoken

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// testKey is a key that is easy to find in text.
func testKey(letter string) []byte { return []byte(strings.Repeat(letter, MinKey)) }

func mustNew(t *testing.T, keys ...[]byte) Keys {
	t.Helper()
	made, err := New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// secret gives the text of the token that keys make for a lease.
func secret(t *testing.T, keys Keys, lease string) string {
	t.Helper()
	found, ok := keys.Secret(lease, keys.Hash(lease))
	if !ok {
		t.Fatalf("the token of %s was not found by the key that made it", lease)
	}
	return string(found)
}

// The values come from another implementation of HMAC-SHA256: replicas of all
// versions have to make the same tokens.
func TestTokensNeverChange(t *testing.T) {
	const want = "MkNpeLLq9URKOQYyTjKlbp7qjV3jTsjtYrWhavsR6Rk"
	if got := secret(t, mustNew(t, testKey("a")), "lease-1"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEachLeaseAndEachKeyHasItsOwnToken(t *testing.T) {
	a, b := mustNew(t, testKey("a")), mustNew(t, testKey("b"))
	seen := map[string]string{}
	for name, keys := range map[string]Keys{"a": a, "b": b, "random": Random(), "another random": Random()} {
		for _, lease := range []string{"", "1", "2", "12", "1\n2"} {
			text := secret(t, keys, lease)
			if bits, err := base64.RawURLEncoding.DecodeString(text); err != nil || len(bits) != 32 || len(text) != 43 {
				t.Errorf("token %q: %d bytes in %d characters (%v), want 32 in 43", text, len(bits), len(text), err)
			}
			whose := fmt.Sprintf("key %s, lease %q", name, lease)
			if other := seen[text]; other != "" {
				t.Errorf("the tokens of %s and %s are equal", whose, other)
			}
			seen[text] = whose
			if keys.Hash(lease) != messages.Token(text).Hash() {
				t.Errorf("the hash for %s is not that of its token", whose)
			}
		}
	}
}

func TestOnlyTheRightKeyFindsTheTokenOfTheRightLease(t *testing.T) {
	a, b := mustNew(t, testKey("a")), mustNew(t, testKey("b"))
	rotated := mustNew(t, testKey("b"), testKey("c"), testKey("a"))
	hash := a.Hash("lease-1")
	tests := []struct {
		name  string
		keys  Keys
		lease string
		hash  coupon.TokenHash
		want  bool
	}{
		{"the key that made it", a, "lease-1", hash, true},
		{"the key that made it, now an old one", rotated, "lease-1", hash, true},
		{"another key", b, "lease-1", hash, false},
		{"another lease", a, "lease-2", hash, false},
		{"another lease, an old key", rotated, "lease-2", hash, false},
		{"no hash", rotated, "lease-1", coupon.TokenHash{}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := test.keys.Secret(test.lease, test.hash)
			if ok != test.want || (got != "") != test.want {
				t.Fatalf("found: %t, a token: %t, want %t", ok, got != "", test.want)
			}
			if ok && string(got) != secret(t, a, "lease-1") {
				t.Error("another token was found")
			}
		})
	}
	if rotated.Hash("lease-1") != b.Hash("lease-1") {
		t.Error("new tokens are not made with the first key")
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		keys [][]byte
		want string
	}{
		{"no key", nil, "there is no key"},
		{"a short key", [][]byte{testKey("a"), testKey("b")[1:]}, "key 2 has 31 bytes; use 32 to 1024"},
		{"a long key", [][]byte{make([]byte, MaxKey+1)}, "key 1 has 1025 bytes; use 32 to 1024"},
		{"many keys", make([][]byte, MaxKeys+1), "there are 9 keys; use at most 8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := New(test.keys...); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestNewCopiesKeys(t *testing.T) {
	key := testKey("a")
	keys := mustNew(t, key)
	before := keys.Hash("lease-1")
	clear(key)
	if keys.Hash("lease-1") != before {
		t.Error("a change of the caller's bytes changed the key")
	}
}

// TestKeysAreNotPrinted prints them in every way, also out of reach of their methods.
func TestKeysAreNotPrinted(t *testing.T) {
	keys := mustNew(t, testKey("K"), testKey("L"))
	type holder struct {
		Exported Keys
		hidden   Keys
		list     []Keys
	}
	held := holder{keys, keys, []Keys{keys}}
	shown := &bytes.Buffer{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%z"} {
		for _, value := range []any{keys, &keys, held, &held, held.list, map[string]Keys{"k": keys}} {
			fmt.Fprintf(shown, verb+"\n", value)
		}
	}
	for _, value := range []any{keys, &keys, held} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(text)
		slog.New(slog.NewTextHandler(shown, nil)).Info("keys", "keys", value)
		slog.New(slog.NewJSONHandler(shown, nil)).Info("keys", "keys", value)
	}
	for _, key := range [][]byte{testKey("K"), testKey("L")} {
		for _, form := range []string{
			string(key[:4]), hex.EncodeToString(key[:4]), strings.ToUpper(hex.EncodeToString(key[:4])),
			base64.StdEncoding.EncodeToString(key[:3]), strings.Trim(fmt.Sprint(key[:4]), "[]"),
			strings.TrimSuffix(fmt.Sprintf("%#v", key[:4]), "}")[len("[]byte{"):],
		} {
			if strings.Contains(shown.String(), form) {
				t.Errorf("a key shows as %q:\n%s", form, shown)
			}
		}
	}
	if !strings.Contains(shown.String(), redacted) {
		t.Errorf("nothing tells that there are keys:\n%s", shown)
	}
}

func BenchmarkHash(b *testing.B) {
	keys := Random()
	for b.Loop() {
		keys.Hash("0197c1d2-7b6a-7c3e-9f00-000000000001")
	}
}
