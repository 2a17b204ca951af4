package config

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"couponlease/internal/leasetoken"
)

// keyText is a key as it is configured, which is easy to find in text.
func keyText(letter string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, leasetoken.MinKey)))
}

func keyFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "token-keys")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLeaseKeys(t *testing.T) {
	a, b := keyText("a"), keyText("b")
	tests := []struct {
		name, keys, file string
		want             []string // the first makes tokens, all find them
	}{
		{"in the setting", b + "," + a, "", []string{b, a}},
		{"in the file", "", a + "\n" + b + "\n", []string{a, b}},
		{"in both", b, a + "\n", []string{b, a}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings := Tokens{TokenKeys: test.keys}
			if test.file != "" {
				settings.TokenKeysFile = keyFile(t, test.file)
			}
			got, configured, err := settings.LeaseKeys()
			if err != nil || !configured {
				t.Fatalf("configured %t, error %v", configured, err)
			}
			for i, text := range test.want {
				key, err := leasetoken.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := got.Secret("l", key.Hash("l")); !ok {
					t.Errorf("key %d is not there", i+1)
				}
				if i == 0 && got.Hash("l") != key.Hash("l") {
					t.Error("another key makes new tokens")
				}
			}
		})
	}
}

func TestWithoutKeysEachProcessHasItsOwn(t *testing.T) {
	first, configured, err := Tokens{}.LeaseKeys()
	if err != nil || configured {
		t.Fatalf("configured %t, error %v", configured, err)
	}
	second, _, err := Tokens{}.LeaseKeys()
	if err != nil {
		t.Fatal(err)
	}
	if first.Hash("l") == second.Hash("l") {
		t.Error("two processes have the same key")
	}
}

func TestWrongKeysAreReportedAndNotShown(t *testing.T) {
	const secret = "open-sesame!"
	nine := strings.TrimSuffix(strings.Repeat(keyText("x")+",", 9), ",")
	tests := []struct {
		name     string
		settings Tokens
		want     string
	}{
		{"no key", Tokens{TokenKeys: secret}, "--token-keys (COUPONLEASE_TOKEN_KEYS): key 1 is neither base64 nor hex"},
		{"a short key", Tokens{TokenKeys: "c2VzYW1l"}, "--token-keys (COUPONLEASE_TOKEN_KEYS): key 1 has 6 bytes; use 32 to 1024"},
		{"no key in the file", Tokens{TokenKeysFile: keyFile(t, secret)},
			"--token-keys-file (COUPONLEASE_TOKEN_KEYS_FILE): key 1 is neither base64 nor hex"},
		{"an empty file", Tokens{TokenKeysFile: keyFile(t, "\n")},
			"--token-keys-file (COUPONLEASE_TOKEN_KEYS_FILE): there is no key"},
		{"a huge file", Tokens{TokenKeysFile: keyFile(t, strings.Repeat("x", 1<<20))},
			"--token-keys-file (COUPONLEASE_TOKEN_KEYS_FILE): the keys have 16401 characters; use at most 16400"},
		{"a file that is gone", Tokens{TokenKeysFile: "/no/such/file"},
			"--token-keys-file (COUPONLEASE_TOKEN_KEYS_FILE): open the file of keys: open /no/such/file: no such file or directory"},
		{"too many in both", Tokens{TokenKeys: keyText("a"), TokenKeysFile: keyFile(t, strings.Join(strings.Split(nine, ",")[1:], "\n"))},
			"--token-keys and --token-keys-file together: there are 9 keys; use at most 8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := test.settings.LeaseKeys()
			if want := "wrong configuration:\n  " + test.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestKeysAreCheckedWithTheOtherSettings(t *testing.T) {
	d := valid()
	d.TokenKeys = "c2VzYW1l"
	const want = "--token-keys (COUPONLEASE_TOKEN_KEYS): key 1 has 6 bytes; use 32 to 1024; make a key with `openssl rand -base64 32`"
	if err := d.Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	d.TokenKeys = keyText("a")
	if err := d.Check(); err != nil {
		t.Errorf("a good key: %v", err)
	}
}

// TestSettingsHideKeys: base64 may look like a URL, of which only parts are hidden.
func TestSettingsHideKeys(t *testing.T) {
	for _, keys := range []string{keyText("a"), "//" + keyText("a")[2:], "a://" + keyText("a")} {
		d := valid()
		d.TokenKeys = keys
		for _, s := range d.Settings() {
			if s.Name == "token-keys" && (s.Value != redacted || !s.IsSecret) {
				t.Errorf("%s is shown as %q", keys, s.Value)
			}
		}
	}
	for _, s := range valid().Settings() {
		if s.Name == "token-keys" && s.Value != "" {
			t.Errorf("no keys are shown as %q", s.Value)
		}
	}
}
