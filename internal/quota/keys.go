package quota

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"time"

	"couponlease/internal/claims"
)

// ClaimPrefix begins the keys of claims, where all keys of an installation begin with
// prefix.
func ClaimPrefix(prefix string) string { return prefix + "claim:" }

// The keys of a campaign begin with its tag, whose braces keep them on one node of a
// cluster. Nothing in them is longer than a campaign's name or tells who asked.

func (p *Pool) tag(template string) string {
	return p.options.Prefix + "{" + url.PathEscape(template) + "}:"
}

func (p *Pool) stockKey(template string) string { return p.tag(template) + "stock" }

func (p *Pool) personsKey(template string, generation int64) string {
	return p.tag(template) + strconv.FormatInt(generation, 10) + ":persons"
}

// seenKey is where those are who got something.
func (p *Pool) seenKey(template string, generation int64) string {
	return p.tag(template) + strconv.FormatInt(generation, 10) + ":seen"
}

// askKeys are the keys of take.lua and give_back.lua.
func (p *Pool) askKeys(a claims.Ask) []string {
	tag := p.tag(a.Template)
	generation := tag + strconv.FormatInt(a.Generation, 10)
	return []string{
		tag + "stock", tag + "r:" + fingerprint("request", a.Template, a.Request), generation + ":persons",
		generation + ":day:" + url.PathEscape(a.Day), generation + ":seen",
	}
}

// counted is how the scripts count an ask: for which person, "" for nobody, and until when
// for the day in ms since 1970, 0 for no day.
func (p *Pool) counted(a claims.Ask, now time.Time) (person string, forget int64) {
	if a.Person == "" {
		return "", 0
	}
	if a.Day != "" {
		// A claim that comes after its day is counted a little longer all the same.
		forget = latest(a.DayEnds, now).Add(dayKept).UnixMilli()
	}
	return fingerprint("person", a.Template, a.Person), forget
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fingerprintBytes are enough for no two persons ever to share a fingerprint by chance.
const fingerprintBytes = 16

// fingerprint stands for a name of a kind within one campaign: the same person has
// another one in the next.
func fingerprint(kind, template, name string) string {
	hash := sha256.New()
	for _, part := range []string{kind, template, name} {
		_, _ = hash.Write(strconv.AppendInt(nil, int64(len(part)), 10)) // documented never to fail
		_, _ = hash.Write([]byte(":" + part))
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:fingerprintBytes])
}
