package simulate

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Verdict is how a case ended.
type Verdict string

const (
	Passed      Verdict = "ok"
	Failed      Verdict = "FAIL"
	Unsupported Verdict = "unsupported"
)

// Report is the answer for one case.
type Report struct {
	ID            string  `json:"id"`
	Title         string  `json:"title"`
	Verdict       Verdict `json:"verdict"`
	Detail        string  `json:"detail,omitempty"`
	Interleavings int     `json:"interleavings"`
	// Steps are, for people, the steps and answers of the interleaving told of:
	// the one that failed, else the first.
	Steps []string `json:"steps,omitempty"`
}

// RunCase runs one case in every order its parallel steps allow, each from a
// fresh world.
func RunCase(ctx context.Context, c *Case, open Open) Report {
	report := Report{ID: c.ID, Title: c.Title, Verdict: Passed}
	for index, order := range Interleavings(c.Sequence) {
		r := newRun(c, open, fmt.Sprintf("%s.%d.", c.ID, index))
		detail, err := r.whole(ctx, order)
		report.Interleavings++
		if index == 0 || detail != "" || err != nil {
			report.Steps = r.told(order)
		}
		var missing unsupportedError
		switch {
		case errors.As(err, &missing):
			report.Verdict, report.Detail = Unsupported, missing.what
			return report
		case err != nil:
			report.Verdict, report.Detail = Failed, fmt.Sprintf("order %v: %v", order, err)
			return report
		case detail != "":
			report.Verdict, report.Detail = Failed, fmt.Sprintf("order %v: %s", order, detail)
			return report
		}
	}
	return report
}

func (r *run) whole(ctx context.Context, order []int) (string, error) {
	for i := range r.c.Sequence {
		if !supported(r.c.Sequence[i].Do) {
			return "", unsupportedError{r.c.Sequence[i].Do}
		}
	}
	if err := r.play(ctx, order); err != nil {
		return "", err
	}
	return r.assert(ctx)
}

// supported says whether the operation of a step exists yet.
func supported(operation string) bool {
	switch operation {
	case "OrderPlaced", "PaymentSucceeded", "OrderClosed", "RefundApproved",
		"LeaseExpiryDue", "Import", "ExpireScan":
		return true
	default:
		return false
	}
}

func (r *run) told(order []int) []string {
	var lines []string
	for _, index := range order {
		step := &r.c.Sequence[index]
		result := "-"
		if index < len(r.results) && r.results[index] != "" {
			result = r.results[index]
		}
		subject := step.Order
		if step.Do == "LeaseExpiryDue" {
			subject = strings.Trim(string(step.Lease), `"`)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", step.Do, subject, result))
	}
	return lines
}
