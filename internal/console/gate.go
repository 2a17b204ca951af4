package console

import (
	"context"
	"io"
	"time"

	"couponlease/internal/reconcile"
)

// GateReport is how the gates stand.
type GateReport struct {
	At    time.Time        `json:"at"`
	Red   int              `json:"red"`
	Gates []reconcile.Gate `json:"gates"`
}

// Gates judges the present figures.
func (d *Database) Gates(ctx context.Context, t reconcile.Thresholds) (GateReport, error) {
	figures, err := d.store.GateFigures(ctx, t.Overdue)
	if err != nil {
		return GateReport{}, err
	}
	now, err := d.store.Now(ctx)
	if err != nil {
		return GateReport{}, err
	}
	report := GateReport{At: now, Gates: t.Judge(figures)}
	for _, gate := range report.Gates {
		if gate.Red {
			report.Red++
		}
	}
	return report, nil
}

// WriteText prints one gate a line.
func (r GateReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"GATE", "STATE", "VALUE", "LIMIT", "RUNBOOK"}}
	for _, gate := range r.Gates {
		state := "green"
		if gate.Red {
			state = "RED"
		}
		rows = append(rows, []string{gate.Name, state, gate.Value, gate.Limit, "OPERATIONS.md#" + gate.Runbook})
	}
	out.table(rows)
	if r.Red == 0 {
		out.addf("%s: all green", clockTime(r.At))
	} else {
		out.addf("%s: %d red", clockTime(r.At), r.Red)
	}
	return out.err
}
