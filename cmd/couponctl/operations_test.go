package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var (
	shellWord = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
	inline    = regexp.MustCompile("`couponctl ([^`]+)`")
)

// commandsIn gives the commands of couponctl in a line of a shell, without the name.
func commandsIn(line string) (commands [][]string) {
	var current []string
	flush := func() {
		if len(current) > 1 && current[0] == "couponctl" {
			commands = append(commands, current[1:])
		}
		current = nil
	}
	for _, word := range shellWord.FindAllString(line, -1) {
		switch {
		case strings.HasPrefix(word, "#"):
			flush()
			return commands
		case slices.Contains([]string{"&&", "||", "|", ">", "<", ";"}, word):
			flush()
		default:
			current = append(current, strings.Trim(word, `"'`))
		}
	}
	flush()
	return commands
}

// documented gives the commands that a document shows in blocks, and those that its prose
// names.
func documented(text string) (shown, named [][]string) {
	var prose strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		isFence := strings.HasPrefix(strings.TrimSpace(line), "```")
		fenced = fenced != isFence
		if fenced || strings.HasPrefix(line, "    ") {
			shown = append(shown, commandsIn(line)...)
			continue
		}
		prose.WriteString(line)
	}
	for _, match := range inline.FindAllStringSubmatch(prose.String(), -1) {
		words := strings.Fields(match[1])
		last := slices.IndexFunc(words, func(word string) bool { return strings.Contains(word, "|") })
		if last < 0 {
			named = append(named, words)
			continue
		}
		for choice := range strings.SplitSeq(words[last], "|") {
			named = append(named, slices.Replace(slices.Clone(words), last, last+1, choice))
		}
	}
	return shown, named
}

// objection is what the command line says to a command, without doing it. What is only
// named may leave out what the command needs, and has N in the place of numbers.
func objection(t *testing.T, words []string, isNamed bool) string {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Name("couponctl"), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if isNamed {
		words = slices.Clone(words)
		for i := range words {
			if words[i] == "N" {
				words[i] = "1"
			}
		}
	}
	_, err = parser.Parse(words)
	switch {
	case err == nil, isNamed && (strings.HasPrefix(err.Error(), "missing flags") || strings.HasPrefix(err.Error(), "expected")):
		return ""
	default:
		return err.Error()
	}
}

// The commands that the runbook shows are understood as they stand, and those that it
// names are there.
func TestCommandsOfTheRunbookExist(t *testing.T) {
	text, err := os.ReadFile("../../OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, named := documented(string(text))
	if len(shown) < 20 || len(named) < 50 {
		t.Errorf("found %d commands in blocks and %d in prose, fewer than there are", len(shown), len(named))
	}
	for _, words := range shown {
		if wrong := objection(t, words, false); wrong != "" {
			t.Errorf("couponctl %s: %s", strings.Join(words, " "), wrong)
		}
	}
	for _, words := range named {
		if wrong := objection(t, words, true); wrong != "" {
			t.Errorf("`couponctl %s`: %s", strings.Join(words, " "), wrong)
		}
	}
}

func TestWrongCommandsOfARunbookAreFound(t *testing.T) {
	shown, named := documented("Say `couponctl jobs\nlist|stop` or `couponctl void --force`.\n\n" +
		"    couponctl gate && couponctl dead reply # why\n\n```sh\ncouponctl void A\n```\n")
	var wrong []string
	for _, words := range shown {
		if objection(t, words, false) != "" {
			wrong = append(wrong, strings.Join(words, " "))
		}
	}
	for _, words := range named {
		if objection(t, words, true) != "" {
			wrong = append(wrong, strings.Join(words, " "))
		}
	}
	if want := []string{"dead reply", "void A", "jobs stop"}; !slices.Equal(wrong, want) {
		t.Errorf("objects to %q, want %q", wrong, want)
	}
}
