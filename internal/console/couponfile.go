package console

import (
	"bufio"
	"bytes"
	"encoding/csv"
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

// The columns of a file of coupons.
const (
	columnCode       = "code"
	columnTemplate   = "template"
	columnOwner      = "owner"
	columnValidFrom  = "valid_from"
	columnValidUntil = "valid_until"
	columnBatch      = "batch"
)

// couponColumns lists the columns in their usual order.
func couponColumns() []string {
	return []string{columnCode, columnTemplate, columnOwner, columnValidFrom, columnValidUntil, columnBatch}
}

// A couponFile reads coupons from CSV, one line at a time. Each line stands for
// itself: what is wrong with one never swallows its neighbours, as an unclosed
// quote would in a reader that lets fields span lines.
type couponFile struct {
	source    *bufio.Reader
	zone      *time.Location
	delimiter rune
	columns   []string
	line      int
	rows      int
}

// rowError says what is wrong with one row; the next one may be fine.
type rowError struct{ reason string }

func (e *rowError) Error() string { return e.reason }

func badRow(format string, args ...any) error { return &rowError{fmt.Sprintf(format, args...)} }

// openCouponFile reads the header. Plain dates in the file count in zone.
func openCouponFile(source io.Reader, zone *time.Location) (*couponFile, error) {
	f := &couponFile{source: bufio.NewReaderSize(source, maxCouponLine), zone: zone, delimiter: ','}
	header, err := f.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty: the first line has to name the columns, such as " +
			strings.Join(couponColumns(), ","))
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", f.line, err)
	}
	if strings.HasPrefix(header, "\xff\xfe") || strings.HasPrefix(header, "\xfe\xff") {
		return nil, errors.New("the file is UTF-16: save it as CSV in UTF-8")
	}
	header = strings.TrimPrefix(header, "\ufeff")
	if !strings.ContainsRune(header, ',') {
		for _, other := range ";\t" {
			if strings.ContainsRune(header, other) {
				f.delimiter = other
			}
		}
	}
	names, err := f.fields(header)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", f.line, err)
	}
	return f, f.readHeader(names)
}

func (f *couponFile) readHeader(names []string) error {
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case !slices.Contains(couponColumns(), name):
			return fmt.Errorf("line %d: there is no column %q: the columns are %s",
				f.line, name, strings.Join(couponColumns(), ", "))
		case slices.Contains(f.columns, name):
			return fmt.Errorf("line %d: column %s is named twice", f.line, name)
		}
		f.columns = append(f.columns, name)
	}
	if !slices.Contains(f.columns, columnCode) {
		return fmt.Errorf("line %d: there is no column %s", f.line, columnCode)
	}
	return nil
}

// read gives the next coupon and its line; io.EOF after the last. A *rowError
// concerns that line only.
func (f *couponFile) read() (row coupon.ImportCoupon, line int, err error) {
	text, err := f.next()
	if err != nil {
		return row, f.line, err
	}
	if f.rows++; f.rows > MaxCouponRows {
		return row, f.line, fmt.Errorf("line %d: a file may have %s rows: split it",
			f.line, thousands(MaxCouponRows))
	}
	fields, err := f.fields(text)
	if err != nil {
		return row, f.line, err
	}
	if len(fields) != len(f.columns) {
		return row, f.line, badRow("%s instead of the header's %d", count(len(fields), "field"), len(f.columns))
	}
	for i, name := range f.columns {
		if err := f.set(&row, name, strings.TrimSpace(fields[i])); err != nil {
			return row, f.line, err
		}
	}
	switch {
	case row.Code == "":
		return row, f.line, badRow("the code is empty")
	case !row.ValidFrom.IsZero() && !row.ValidUntil.IsZero() && !row.ValidFrom.Before(row.ValidUntil):
		return row, f.line, badRow("valid_until is not after valid_from")
	}
	return row, f.line, nil
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

// fields splits one line. Most lines have no quotes and need no CSV reader.
func (f *couponFile) fields(line string) ([]string, error) {
	if !utf8.ValidString(line) {
		return nil, badRow("the line is not UTF-8")
	}
	if !strings.Contains(line, `"`) {
		return strings.Split(line, string(f.delimiter)), nil
	}
	reader := csv.NewReader(strings.NewReader(line))
	reader.Comma = f.delimiter
	fields, err := reader.Read()
	if err != nil {
		return nil, badRow("the quotes do not match; a field cannot span lines")
	}
	return fields, nil
}

func (f *couponFile) set(row *coupon.ImportCoupon, column, value string) (err error) {
	if utf8.RuneCountInString(value) > messages.MaxID {
		return badRow("%s is longer than %d characters", column, messages.MaxID)
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return badRow("%s has a control character in it", column)
	}
	switch column {
	case columnCode:
		row.Code = value
	case columnTemplate:
		row.Template = value
	case columnOwner:
		row.Owner = value
	case columnBatch:
		row.Batch = value
	case columnValidFrom:
		row.ValidFrom, err = f.instant(column, value, 0)
	case columnValidUntil:
		row.ValidUntil, err = f.instant(column, value, 1)
	}
	return err
}

// instant reads an RFC 3339 time, or a plain date. A date counts as a whole day:
// wholeDays is 1 where the day is still part of the validity.
func (f *couponFile) instant(column, value string, wholeDays int) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		if at, err = time.ParseInLocation(time.DateOnly, value, f.zone); err == nil {
			at = at.AddDate(0, 0, wholeDays)
		}
	}
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, badRow("%s is %q: write 2026-12-31 or 2026-12-31T23:59:59+01:00", column, value)
	}
	return at.UTC().Truncate(time.Microsecond), nil
}
