package console

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"couponlease/internal/reconcile"
)

// Columns of exports. Each has this name unless a mapping says otherwise.
const (
	columnOrder   = "orderId"
	columnPayment = "paymentId"
	columnRefund  = "refundId"
	columnAmount  = "amount"
	columnStatus  = "status"
	columnAt      = "at"
)

// maxExportLine bounds one line of an export.
const maxExportLine = 1 << 20

// closedWords are what systems call an order that is over without money.
var closedWords = []string{"CLOSED", "CANCELLED", "CANCELED", "EXPIRED", "VOIDED"}

// ReadExport reads an export: JSON objects, one a line, or CSV with a heading; the first
// byte tells which. columns names those whose name is another there.
func ReadExport(kind string, source io.Reader, columns map[string]string) (reconcile.Export, error) {
	for name := range columns {
		switch name {
		case columnOrder, columnPayment, columnRefund, columnAmount, columnStatus, columnAt:
		default:
			return reconcile.Export{}, Usage(fmt.Errorf("--map: there is no column %q", name))
		}
	}
	e := &export{kind: kind, columns: columns}
	reader := bufio.NewReaderSize(source, 64<<10)
	first, err := reader.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		e.next = func() (map[string]string, error) { return nil, io.EOF }
	case err != nil:
		return reconcile.Export{}, fmt.Errorf("read the export of %s: %w", kind, err)
	case first[0] == '{':
		e.next = jsonRows(reader)
	default:
		if e.next, err = csvRows(reader); err != nil {
			return reconcile.Export{}, Usage(fmt.Errorf("read the export of %s: %w", kind, err))
		}
	}
	return reconcile.Export{Kind: kind, Next: e.row}, nil
}

type export struct {
	kind    string
	columns map[string]string
	next    func() (map[string]string, error)
	line    int
}

func (e *export) row() (row reconcile.Exported, ok bool, err error) {
	values, err := e.next()
	if errors.Is(err, io.EOF) {
		return row, false, nil
	}
	e.line++
	if err == nil {
		row, err = e.translate(values)
	}
	if err != nil {
		return row, false, Usage(fmt.Errorf("row %d: %w", e.line, err))
	}
	return row, true, nil
}

func (e *export) value(values map[string]string, column string) string {
	if other := e.columns[column]; other != "" {
		column = other
	}
	return strings.TrimSpace(values[column])
}

func (e *export) translate(values map[string]string) (row reconcile.Exported, err error) {
	if row.Order = e.value(values, columnOrder); row.Order == "" {
		return row, errors.New("it names no order (column orderId; --map orderId=NAME)")
	}
	switch e.kind {
	case reconcile.ExportPayments:
		row.ID = e.value(values, columnPayment)
	case reconcile.ExportRefunds:
		row.ID = e.value(values, columnRefund)
	default:
		status := strings.ToUpper(e.value(values, columnStatus))
		for _, word := range closedWords {
			row.Closed = row.Closed || status == word
		}
	}
	if e.kind != reconcile.ExportOrders && row.ID == "" {
		return row, fmt.Errorf("order %s: it names none of its %s", row.Order, e.kind)
	}
	if text := e.value(values, columnAmount); text != "" {
		row.HasAmount = true
		if row.Amount, err = strconv.ParseInt(text, 10, 64); err != nil {
			return row, fmt.Errorf("amount %q: want a whole number of minor units, such as 1999", text)
		}
	}
	if text := e.value(values, columnAt); text != "" {
		if row.At, err = time.Parse(time.RFC3339, text); err != nil {
			return row, fmt.Errorf("time %q: want RFC 3339, such as 2026-03-01T12:00:00Z", text)
		}
	}
	return row, nil
}

func jsonRows(source io.Reader) func() (map[string]string, error) {
	scanner := bufio.NewScanner(source)
	scanner.Buffer(make([]byte, 64<<10), maxExportLine)
	return func() (map[string]string, error) {
		for scanner.Scan() {
			line := bytes.TrimSpace(scanner.Bytes())
			if len(line) == 0 {
				continue
			}
			decoder := json.NewDecoder(bytes.NewReader(line))
			decoder.UseNumber()
			var object map[string]any
			if err := decoder.Decode(&object); err != nil {
				return nil, err
			}
			values := make(map[string]string, len(object))
			for name, value := range object {
				if value != nil {
					values[name] = fmt.Sprint(value)
				}
			}
			return values, nil
		}
		if err := scanner.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
}

func csvRows(source io.Reader) (func() (map[string]string, error), error) {
	reader := csv.NewReader(source)
	reader.ReuseRecord = true
	record, err := reader.Read()
	if err != nil {
		return nil, err
	}
	heading := append([]string(nil), record...)
	for i, name := range heading {
		heading[i] = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
	}
	return func() (map[string]string, error) {
		record, err := reader.Read()
		if err != nil {
			return nil, err
		}
		values := make(map[string]string, len(heading))
		for i, name := range heading {
			values[name] = record[i]
		}
		return values, nil
	}, nil
}
