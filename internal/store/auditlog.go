package store

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/insert_audits.sql
	insertAuditsSQL string
	//go:embed sql/read_audits.sql
	readAuditsSQL string
)

// auditDetail is what the audit log keeps as a document.
type auditDetail struct {
	Key       string            `json:"key,omitempty"`
	Cause     string            `json:"cause,omitempty"`
	First     coupon.Code       `json:"first,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"`
	Before    []coupon.Standing `json:"before,omitempty"`
	After     []coupon.Standing `json:"after,omitempty"`
	// Corrections are as in coupon.AuditRow.
	Corrections []coupon.Correction `json:"corrections,omitempty"`
}

// auditRow is a row whose document is encoded.
type auditRow struct {
	*coupon.AuditRow
	detail string
}

func encodeAudits(audits []*coupon.AuditRow) ([]auditRow, error) {
	rows := make([]auditRow, len(audits))
	for i, a := range audits {
		document, err := json.Marshal(auditDetail{a.Key, a.Cause, a.First, a.Arguments, a.Before, a.After, a.Corrections})
		if err != nil {
			return nil, fmt.Errorf("detail of an audit row about %s: %w", a.Subject, err)
		}
		rows[i] = auditRow{a, string(document)}
	}
	return rows, nil
}

func auditColumns(rows []auditRow) []any {
	return []any{
		collect[times](rows, func(r auditRow) time.Time { return r.At }),
		collect[texts](rows, func(r auditRow) string { return r.Actor }),
		collect[texts](rows, func(r auditRow) string { return r.Action }),
		collect[texts](rows, func(r auditRow) string { return r.Subject }),
		collect[texts](rows, func(r auditRow) string { return arrayLiteral(r.Coupons) }),
		collect[texts](rows, func(r auditRow) string { return r.Reason }),
		collect[texts](rows, func(r auditRow) string { return string(r.Code) }),
		collect[integers](rows, func(r auditRow) int64 { return r.Count }),
		collect[texts](rows, func(r auditRow) string { return r.detail }),
	}
}

// Record writes a row of the audit log for what is more than one transaction; commands
// write theirs in their own. The database gives the time unless the row has one.
func (s *Store) Record(ctx context.Context, row coupon.AuditRow) error {
	rows, err := encodeAudits([]*coupon.AuditRow{&row})
	if err != nil {
		return err
	}
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if _, err := s.pool.Exec(ctx, insertAuditsSQL, auditColumns(rows)...); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// AuditLog lists what people did by hand, newest first.
func (s *Store) AuditLog(ctx context.Context, filter coupon.AuditFilter) ([]coupon.AuditRow, error) {
	var rows []coupon.AuditRow
	err := s.each(ctx, readAuditsSQL, list(&rows, scanAuditRow), filter.Before, filter.Actor, filter.Coupon, filter.Action,
		orNull(filter.Since), orNull(filter.Until), cmp.Or(filter.Limit, s.options.PageSize))
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return rows, nil
}

// orNull gives a parameter that is null for the zero time.
func orNull(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// scanAuditRow reads the columns of read_audits.sql.
func scanAuditRow(row scanTarget) (a coupon.AuditRow, err error) {
	var document []byte
	err = row.Scan(&a.ID, toTime{&a.At}, &a.Actor, &a.Action, &a.Subject, &a.Coupons, &a.Reason,
		toText{(*string)(&a.Code)}, &a.Count, &document)
	if err != nil {
		return a, err
	}
	var d auditDetail
	if err := json.Unmarshal(document, &d); err != nil {
		return a, fmt.Errorf("detail of audit row %d: %w", a.ID, err)
	}
	a.Key, a.Cause, a.First, a.Arguments, a.Before, a.After = d.Key, d.Cause, d.First, d.Arguments, d.Before, d.After
	a.Corrections = d.Corrections
	return a, nil
}
