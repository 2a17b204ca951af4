package config

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kong"
)

// The tags that bound a setting, next to those of kong: min and max (numbers and
// durations), oneof (words), form (url with its schemes, file, address, share), needed
// (the setting has no default; an example), redact (the value holds a secret).

// Error is a configuration that cannot be used.
type Error struct {
	// Mistakes are one for each wrong setting: its flag and variable, what is wrong
	// and what to write instead.
	Mistakes []string
}

func (e *Error) Error() string {
	return "wrong configuration:\n  " + strings.Join(e.Mistakes, "\n  ")
}

func check(flags []*kong.Flag, unread []string) error {
	var mistakes []string
	faulty := map[string]bool{}
	for _, flag := range flags {
		if wrong := judge(flag, unread); wrong != "" {
			mistakes = append(mistakes, named(flag)+": "+wrong)
			faulty[flag.Name] = true
		}
	}
	mistakes = append(mistakes, judgeTLS(flags, faulty)...)
	if len(mistakes) == 0 {
		return nil
	}
	return &Error{Mistakes: mistakes}
}

func named(flag *kong.Flag) string {
	return fmt.Sprintf("--%s (%s)", flag.Name, strings.Join(flag.Envs, ", "))
}

// judge says what is wrong with a setting, "" if nothing is.
func judge(flag *kong.Flag, unread []string) string {
	switch value := flag.Target.Interface().(type) {
	case int:
		if text, ok := wasUnread(int64(value), unread); ok {
			return fmt.Sprintf("%q is not a whole number; use %s", text, bounds(flag))
		}
		least, most := limits(flag, strconv.Atoi)
		if value < least || value > most {
			return fmt.Sprintf("%d is out of range; use %s", value, bounds(flag))
		}
	case time.Duration:
		return judgeDuration(flag, value, unread)
	case []time.Duration:
		if len(value) == 0 || len(value) > maxList {
			return fmt.Sprintf("has %d values; use 1 to %d, such as %s", len(value), maxList, flag.Default)
		}
		for _, one := range value {
			if wrong := judgeDuration(flag, one, unread); wrong != "" {
				return wrong
			}
		}
	case string:
		return judgeText(flag, value)
	}
	return ""
}

// maxList is the most values that a list may have.
const maxList = 16

func judgeDuration(flag *kong.Flag, value time.Duration, unread []string) string {
	if text, ok := wasUnread(int64(value), unread); ok {
		return fmt.Sprintf("%q is not a duration; use %s, such as %s", text, bounds(flag), flag.Default)
	}
	least, most := limits(flag, time.ParseDuration)
	if value < least || value > most {
		return fmt.Sprintf("%v is out of range; use %s", value, bounds(flag))
	}
	return ""
}

func judgeText(flag *kong.Flag, value string) string {
	if words := strings.Fields(flag.Tag.Get("oneof")); len(words) > 0 {
		if !slices.Contains(words, value) {
			return fmt.Sprintf("%q is unknown; use %s", value, strings.Join(words, " or "))
		}
		return ""
	}
	if value == "" {
		if example := flag.Tag.Get("needed"); example != "" {
			return "is not set; use " + example
		}
		return ""
	}
	switch flag.Tag.Get("form") {
	case "url":
		return judgeURL(value, strings.Fields(flag.Tag.Get("schemes")))
	case "keys":
		return judgeKeys(value)
	case "file":
		// Whether it holds what it should is found out where it is used.
		if _, err := os.Stat(value); err != nil {
			return fmt.Sprintf("%v; name a file that can be read", err)
		}
	case "prefixes":
		return judgePrefixes(value)
	case "prefix":
		if len(value) > maxPrefix || strings.ContainsFunc(value, func(r rune) bool {
			return r == '{' || r == '}' || !unicode.IsGraphic(r) || unicode.IsSpace(r)
		}) {
			return fmt.Sprintf("%q cannot begin keys; use up to %d characters without spaces and braces, such as %s",
				value, maxPrefix, flag.Default)
		}
	case "share":
		if share, err := strconv.ParseFloat(value, 64); err != nil || !(share >= 0 && share <= 1) {
			return fmt.Sprintf("%q is not a share; use 0 to 1, such as %s", value, flag.Default)
		}
	case "address":
		if _, port, err := net.SplitHostPort(value); err != nil || !isPort(port) {
			return fmt.Sprintf("%q is not an address; use host:port, such as 127.0.0.1:8080 or :8080", value)
		}
	}
	return ""
}

// maxPrefix bounds what keys begin with, in bytes.
const maxPrefix = 100

// listed are the parts of a text with commas between them, nil of none.
func listed(text string) []string {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// judgePrefixes refuses what every name begins with, and what no name that is taken does.
func judgePrefixes(value string) string {
	prefixes := listed(value)
	if len(prefixes) > maxList {
		return fmt.Sprintf("has %d values; use at most %d", len(prefixes), maxList)
	}
	for _, prefix := range prefixes {
		if prefix == "" || strings.HasPrefix(prefix, "amq.") || strings.HasPrefix(prefix, "coupon-") {
			return fmt.Sprintf("%q is no beginning of names of such queues; use one of your own, such as reply.", prefix)
		}
	}
	return ""
}

// judgeURL never repeats the value, which may hold a password.
func judgeURL(value string, schemes []string) string {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return fmt.Sprintf("is not a URL of the form %s://user:password@host:port/name", strings.Join(schemes, ":// or "))
	}
	return ""
}

func isPort(text string) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port >= 0 && port < 1<<16
}

// limits reads the bounds of a setting; its test sees to it that all have some.
func limits[T any](flag *kong.Flag, parse func(string) (T, error)) (least, most T) {
	var errs [2]error
	least, errs[0] = parse(flag.Tag.Get("min"))
	most, errs[1] = parse(flag.Tag.Get("max"))
	for _, err := range errs {
		if err != nil {
			panic(fmt.Sprintf("bounds of --%s: %v", flag.Name, err))
		}
	}
	return least, most
}

// bounds tells what is allowed, "" when everything is.
func bounds(flag *kong.Flag) string {
	if words := flag.Tag.Get("oneof"); words != "" {
		return strings.Join(strings.Fields(words), " or ")
	}
	if flag.Tag.Has("min") {
		return flag.Tag.Get("min") + " to " + flag.Tag.Get("max")
	}
	return ""
}

// isSecret says whether the setting may hold a password.
func isSecret(flag *kong.Flag) bool { return flag.Tag.Has("redact") }

// text is the value as it would be written on the command line.
func text(target reflect.Value) string {
	list, ok := target.Interface().([]time.Duration)
	if !ok {
		return fmt.Sprint(target.Interface())
	}
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = one.String()
	}
	return strings.Join(texts, ",")
}
