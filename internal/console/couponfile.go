package console

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// Limits on a file of coupons.
const (
	// MaxCouponRows is how many rows one file may have.
	MaxCouponRows = 1_000_000
	// maxCouponLine bounds one line, in bytes.
	maxCouponLine = 64 << 10
)

// FileFormat is how a file of coupons is written.
type FileFormat string

// The formats: CSV with a header row, or one JSON object a line with the columns as its
// fields.
const (
	FileCSV   FileFormat = "csv"
	FileJSONL FileFormat = "jsonl"
)

// FileFormatOf tells by its name how a file is written; CSV unless it ends in .jsonl or
// .ndjson.
func FileFormatOf(name string) FileFormat {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson") {
		return FileJSONL
	}
	return FileCSV
}

// The columns of files of coupons.
const (
	columnCode       = "code"
	columnTemplate   = "template"
	columnOwner      = "owner"
	columnCustomer   = "customer"
	columnValidFrom  = "valid_from"
	columnValidUntil = "valid_until"
	columnBatch      = "batch"
)

// fileColumns are those that a kind of file may have, in their usual order, of which it
// needs one.
type fileColumns struct {
	all    []string
	needed string
}

// importColumns are those of a file of codes, issueColumns those of a list of people.
func importColumns() fileColumns {
	return fileColumns{
		[]string{columnCode, columnTemplate, columnOwner, columnValidFrom, columnValidUntil, columnBatch}, columnCode,
	}
}

func issueColumns() fileColumns {
	return fileColumns{[]string{columnCustomer, columnCode, columnValidFrom, columnValidUntil}, columnCustomer}
}

// A couponFile reads rows one line at a time. Each line stands for itself: what is wrong
// with one never swallows its neighbours, as an unclosed quote would in a reader that
// lets fields span lines.
type couponFile struct {
	source  *bufio.Reader
	zone    *time.Location
	columns fileColumns
	// split puts the fields of a line into the values, which are in the order of the
	// columns; values that a line does not have stay empty.
	split  func(line string, values []string) error
	values []string
	// ahead is a line that was read to find out what the file is.
	ahead      string
	line, rows int
}

// rowError says what is wrong with one row; the next one may be fine.
type rowError struct{ reason string }

func (e *rowError) Error() string { return e.reason }

func badRow(format string, args ...any) error { return &rowError{fmt.Sprintf(format, args...)} }

// openCouponFile reads as much as tells what the file is. Plain dates in it count in zone.
func openCouponFile(
	source io.Reader, format FileFormat, columns fileColumns, zone *time.Location,
) (*couponFile, error) {
	f := &couponFile{
		source: bufio.NewReaderSize(source, maxCouponLine), zone: zone, columns: columns,
		values: make([]string, len(columns.all)),
	}
	first, err := f.next()
	switch {
	case errors.Is(err, io.EOF) && format == FileJSONL:
		return nil, errors.New("the file is empty: write one object a line, such as " +
			`{"` + columns.needed + `": "..."}`)
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty: the first line has to name the columns, such as " +
			strings.Join(columns.all, ","))
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", f.line, err)
	}
	if strings.HasPrefix(first, "\xff\xfe") || strings.HasPrefix(first, "\xfe\xff") {
		return nil, fmt.Errorf("the file is UTF-16: save it as %s in UTF-8", strings.ToUpper(string(format)))
	}
	first = strings.TrimPrefix(first, "\ufeff")
	if format == FileJSONL {
		f.split, f.ahead = f.splitObject, first
		return f, nil
	}
	f.split, err = f.header(first)
	return f, err
}

// row reads the values of the next row; io.EOF after the last. A *rowError concerns that
// row only.
func (f *couponFile) row() error {
	text := f.ahead
	if f.ahead = ""; text == "" {
		var err error
		if text, err = f.next(); err != nil {
			return err
		}
	}
	if f.rows++; f.rows > MaxCouponRows {
		return fmt.Errorf("line %d: a file may have %s rows: split it", f.line, thousands(MaxCouponRows))
	}
	if !utf8.ValidString(text) {
		return badRow("the line is not UTF-8")
	}
	clear(f.values)
	if err := f.split(text, f.values); err != nil {
		return err
	}
	for i, value := range f.values {
		value = strings.TrimSpace(value)
		if utf8.RuneCountInString(value) > messages.MaxID {
			return badRow("%s is longer than %d characters", f.columns.all[i], messages.MaxID)
		}
		if strings.ContainsFunc(value, unicode.IsControl) {
			return badRow("%s has a control character in it", f.columns.all[i])
		}
		f.values[i] = value
	}
	if f.value(f.columns.needed) == "" {
		return badRow("the %s is empty", f.columns.needed)
	}
	return nil
}

// value gives one of the values of the row.
func (f *couponFile) value(column string) string {
	return f.values[slices.Index(f.columns.all, column)]
}

// coupon gives the next code to import.
func (f *couponFile) coupon() (row coupon.ImportCoupon, line int, err error) {
	if err := f.row(); err != nil {
		return row, f.line, err
	}
	row = coupon.ImportCoupon{
		Code: f.value(columnCode), Template: f.value(columnTemplate), Owner: f.value(columnOwner),
		Batch: f.value(columnBatch),
	}
	row.ValidFrom, row.ValidUntil, err = f.validity()
	return row, f.line, err
}

// person gives the next one who is to get a coupon.
func (f *couponFile) person() (item coupon.IssueItem, line int, err error) {
	if err := f.row(); err != nil {
		return item, f.line, err
	}
	item = coupon.IssueItem{Code: f.value(columnCode), Person: f.value(columnCustomer)}
	item.ValidFrom, item.ValidUntil, err = f.validity()
	return item, f.line, err
}

func (f *couponFile) validity() (from, until time.Time, err error) {
	if from, err = f.instant(columnValidFrom, 0); err != nil {
		return from, until, err
	}
	if until, err = f.instant(columnValidUntil, 1); err != nil {
		return from, until, err
	}
	if !from.IsZero() && !until.IsZero() && !from.Before(until) {
		return from, until, badRow("%s is not after %s", columnValidUntil, columnValidFrom)
	}
	return from, until, nil
}

// instant reads a time, the zero one where there is none.
func (f *couponFile) instant(column string, wholeDays int) (time.Time, error) {
	value := f.value(column)
	if value == "" {
		return time.Time{}, nil
	}
	at, known := parseInstant(value, f.zone, wholeDays)
	if !known {
		return at, badRow("%s is %q: write 2026-12-31 or 2026-12-31T23:59:59+01:00", column, value)
	}
	return at, nil
}

// parseInstant reads an RFC 3339 time, or a plain date. A date counts as a whole day:
// wholeDays is 1 where the day is still part of the validity.
func parseInstant(value string, zone *time.Location, wholeDays int) (at time.Time, known bool) {
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		if at, err = time.ParseInLocation(time.DateOnly, value, zone); err == nil {
			at = at.AddDate(0, 0, wholeDays)
		}
	}
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, false
	}
	return at.UTC().Truncate(time.Microsecond), true
}

// next gives the next line that is not blank, without its end.
func (f *couponFile) next() (string, error) {
	for {
		part, err := f.source.ReadSlice('\n')
		if len(part) > 0 {
			f.line++
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			return "", f.skipRest()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the file: %w", err)
		}
		if text := bytes.TrimRight(part, "\r\n"); len(bytes.TrimSpace(text)) > 0 {
			return string(text), nil
		}
		if err != nil {
			return "", io.EOF
		}
	}
}

// skipRest passes over the rest of a line that is too long.
func (f *couponFile) skipRest() error {
	for {
		_, err := f.source.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF):
			return badRow("the line is longer than %d KiB", maxCouponLine>>10)
		default:
			return fmt.Errorf("read the file: %w", err)
		}
	}
}
