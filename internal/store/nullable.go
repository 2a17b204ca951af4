package store

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// The types below are where columns that may be null are scanned to: null becomes the
// zero value. They spare the reader a pointer per column.
type (
	// toTime scans a time, as UTC.
	toTime struct{ to *time.Time }
	// toText scans a text or a UUID.
	toText struct{ to *string }
	toInt  struct{ to *int64 }
	// toHash scans a SHA-256.
	toHash struct{ to *[32]byte }
)

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (t toTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t.to = time.Time{}
	if v.Valid {
		*t.to = v.Time.UTC()
	}
	return nil
}

// ScanText implements pgtype.TextScanner.
func (t toText) ScanText(v pgtype.Text) error {
	*t.to = v.String
	return nil
}

// ScanInt64 implements pgtype.Int64Scanner.
func (t toInt) ScanInt64(v pgtype.Int8) error {
	*t.to = v.Int64
	return nil
}

// ScanBytes implements pgtype.BytesScanner.
func (t toHash) ScanBytes(v []byte) error {
	*t.to = [32]byte{}
	if v == nil {
		return nil
	}
	if len(v) != len(t.to) {
		return fmt.Errorf("hash of %d bytes", len(v))
	}
	copy(t.to[:], v)
	return nil
}
