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
	if what := c.missing(); what != "" {
		report.Verdict, report.Detail = Unsupported, what
		return report
	}
	orders, err := c.orders()
	if err != nil {
		report.Verdict, report.Detail = Failed, err.Error()
		return report
	}
	for index, order := range orders {
		r := newRun(c, open, fmt.Sprintf("%s.%d.", c.ID, index))
		wrong, err := r.whole(ctx, order)
		report.Interleavings++
		if index == 0 || wrong != "" || err != nil {
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
		case wrong != "":
			report.Verdict, report.Detail = Failed, fmt.Sprintf("order %v: %s", order, wrong)
			return report
		}
	}
	return report
}

// missing names the first operation of the case that does not exist yet.
func (c *Case) missing() string {
	for i := range c.Sequence {
		if do := c.Sequence[i].Do; do != "" && !supported(do) {
			return do
		}
	}
	return ""
}

// maxOrders bounds in how many orders one case is run.
const maxOrders = 50_000

// orders gives the orders in which the steps are run, or why there are none.
func (c *Case) orders() ([][]int, error) {
	switch count := countInterleavings(c.Sequence); {
	case c.invalid != nil:
		return nil, c.invalid
	case len(c.Sequence) == 0:
		return nil, errors.New("a case needs a sequence")
	case count > maxOrders:
		return nil, fmt.Errorf("%d orders of the parallel steps; at most %d are run", count, maxOrders)
	}
	return Interleavings(c.Sequence), nil
}

func (r *run) whole(ctx context.Context, order []int) (wrong string, err error) {
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	if err := r.play(ctx, order); err != nil {
		return "", err
	}
	return r.assert(ctx)
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
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", step.Do, subject, result)), " "))
	}
	return lines
}
