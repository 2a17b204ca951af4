package console

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Format is how a result is written.
type Format string

// The formats.
const (
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// A Result is what an operation found. It marshals to JSON for programs, and
// writes itself as text for people.
type Result interface {
	WriteText(w io.Writer) error
}

// Write writes a result in the format asked for.
func Write(w io.Writer, format Format, result Result) error {
	if format != FormatJSON {
		return result.WriteText(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

// lines collects text and remembers the first failed write, so that what writes
// a page of text reads like the page.
type lines struct {
	w   io.Writer
	err error
}

// addf writes one line.
func (l *lines) addf(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format+"\n", args...)
	}
}

// table writes rows in columns that line up; the first row is the heading.
func (l *lines) table(rows [][]string) {
	if l.err != nil {
		return
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		// Writes to a string builder do not fail.
		_, _ = fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush()
	for line := range strings.Lines(b.String()) {
		l.addf("%s", strings.TrimRight(line, " \n"))
	}
}

// clockTime shows an instant to people, in UTC and to the second.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// count is a number with its noun: "1 coupon", "2 coupons".
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if rest, found := strings.CutSuffix(noun, "y"); found {
		noun = rest + "ie"
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), noun)
}

// thousands groups the digits of a number: 1,234,567.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}
