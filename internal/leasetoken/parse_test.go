package leasetoken

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	// Bytes whose base64 differs between the alphabets.
	first := []byte(strings.Repeat("\xfb\xff", 16))
	second := []byte(strings.Repeat("\x00\xfe\x3e", 11))
	want := mustNew(t, first, second)
	std, url := base64.StdEncoding, base64.URLEncoding
	tests := []struct{ name, text string }{
		{"base64", std.EncodeToString(first) + "," + std.EncodeToString(second)},
		{"base64 for URLs", url.EncodeToString(first) + "," + url.EncodeToString(second)},
		{"without padding", base64.RawStdEncoding.EncodeToString(first) + "," + base64.RawURLEncoding.EncodeToString(second)},
		{"hex", hex.EncodeToString(first) + "," + strings.ToUpper(hex.EncodeToString(second))},
		{"both, with spaces", " " + hex.EncodeToString(first) + " ,\t" + std.EncodeToString(second) + "\n"},
		{"lines", std.EncodeToString(first) + "\r\n" + hex.EncodeToString(second) + "\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got.Hash("l") != want.Hash("l") {
				t.Error("the first key is another one")
			}
			if _, ok := got.Secret("l", mustNew(t, second).Hash("l")); !ok {
				t.Error("the second key is another one")
			}
		})
	}
}

func TestParseRefusesAndShowsNothing(t *testing.T) {
	good := base64.StdEncoding.EncodeToString(testKey("g"))
	tests := []struct{ name, text, want string }{
		{"nothing", " \n", "there is no key"},
		{"an empty key", good + ",," + good, "key 2 has 0 bytes; use 32 to 1024"},
		{"a comma at the end", good + ",", "key 2 has 0 bytes; use 32 to 1024"},
		{"a short key", good + "," + base64.StdEncoding.EncodeToString([]byte("sesame")), "key 2 has 6 bytes; use 32 to 1024"},
		{"a sentence", "sesame, open!", "key 2 is neither base64 nor hex"},
		{"a key that is damaged", good[:20] + "?" + good[20:], "key 1 is neither base64 nor hex"},
		{"too many", strings.Repeat(good+",", MaxKeys) + good, "there are 9 keys; use at most 8"},
		{"far too much", strings.Repeat("a", MaxText+1), "the keys have 16401 characters; use at most 16400"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Parse(test.text); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(base64.StdEncoding.EncodeToString(testKey("a")) + "," + hex.EncodeToString(testKey("b")))
	f.Add("a,b")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := Parse(text)
		if err != nil {
			return
		}
		if _, ok := keys.Secret("l", keys.Hash("l")); !ok {
			t.Error("keys that were read do not find their own token")
		}
	})
}
