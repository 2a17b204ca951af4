package console

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"couponlease/internal/config"
)

// Severity says how urgent a diagnosis is.
type Severity string

// The severities: a note asks for nothing, a warning will become an error, and an error
// stops work, or may lose something.
const (
	SeverityOK      Severity = "ok"
	SeverityNote    Severity = "note"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

// Diagnosis is what one check found.
type Diagnosis struct {
	// Check names what was looked at, such as "broker policies".
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Finding  string   `json:"finding"`
	// Remedy is what to do about it, with the command to run.
	Remedy string `json:"remedy,omitempty"`
}

// HealthReport is what all checks found.
type HealthReport struct {
	Diagnoses []Diagnosis `json:"diagnoses"`
	Errors    int         `json:"errors"`
	Warnings  int         `json:"warnings"`
	Seconds   float64     `json:"seconds"`
}

// Bad says whether somebody has to do something.
func (r HealthReport) Bad() bool { return r.Errors+r.Warnings > 0 }

// WriteText prints one diagnosis a line, with its remedy below.
func (r HealthReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, d := range r.Diagnoses {
		out.addf("%-7s  %s: %s", d.Severity, d.Check, d.Finding)
		if d.Remedy != "" {
			out.addf("%-7s  -> %s", "", d.Remedy)
		}
	}
	out.addf("%s, %s, in %.1f s", count(r.Errors, "error"), count(r.Warnings, "warning"), r.Seconds)
	return out.err
}

// DoctorOptions shape an examination.
type DoctorOptions struct {
	// Timeout bounds each check.
	Timeout time.Duration
	// InboxRetention is how many days the inbox remembers, as coupond is told.
	InboxRetention int
}

// Doctor examines an installation and changes nothing. Checks do not wait for each
// other: a service that does not answer costs its own checks only, and time no more
// than a few times the timeout.
func Doctor(ctx context.Context, services config.Services, options DoctorOptions) HealthReport {
	start := time.Now()
	d := &doctor{services: services, options: options}
	var report HealthReport
	parts := []func(context.Context) []Diagnosis{d.database, d.broker, d.redis, d.tokens}
	found := make([][]Diagnosis, len(parts))
	var running sync.WaitGroup
	for i, examine := range parts {
		running.Go(func() { found[i] = examine(ctx) })
	}
	running.Wait()
	report.Diagnoses = append(slices.Concat(found...), d.clocks.judge()...)
	for _, diagnosis := range report.Diagnoses {
		switch diagnosis.Severity {
		case SeverityError:
			report.Errors++
		case SeverityWarning:
			report.Warnings++
		}
	}
	report.Seconds = time.Since(start).Seconds()
	return report
}

type doctor struct {
	services config.Services
	options  DoctorOptions
	clocks   clocks
}

// check is one look at something. It may take its time: whoever waits for it does not.
type check struct {
	name string
	run  func(ctx context.Context) ([]Diagnosis, error)
}

// grace is how long a check may take to say why it ran out of time.
const grace = time.Second

// examine runs checks at once, each for as long as a check may take, and gives their
// diagnoses in order. A check that found nothing wrong and has nothing to say is well.
func (d *doctor) examine(ctx context.Context, checks ...check) (all []Diagnosis) {
	results := make([][]Diagnosis, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() { results[i] = d.bounded(ctx, c) })
	}
	running.Wait()
	return slices.Concat(results...)
}

// bounded gives up on a check that does not end.
func (d *doctor) bounded(ctx context.Context, c check) []Diagnosis {
	ctx, cancel := context.WithTimeout(ctx, d.options.Timeout)
	defer cancel()
	answer := make(chan []Diagnosis, 1)
	go func() { answer <- c.outcome(ctx) }()
	timer := time.NewTimer(d.options.Timeout + grace)
	defer timer.Stop()
	select {
	case diagnoses := <-answer:
		return diagnoses
	case <-timer.C:
		return []Diagnosis{{c.name, SeverityError, fmt.Sprintf("no answer within %v", d.options.Timeout),
			"see whether the service is overloaded, or give it more --timeout"}}
	}
}

func (c check) outcome(ctx context.Context) []Diagnosis {
	diagnoses, err := c.run(ctx)
	if err != nil {
		diagnoses = append(diagnoses, Diagnosis{Severity: SeverityError, Finding: "it could not be checked: " + err.Error(),
			Remedy: "see to it that the service answers, and run `couponctl doctor` again"})
	}
	if len(diagnoses) == 0 {
		diagnoses = []Diagnosis{{Severity: SeverityOK, Finding: "as it should be"}}
	}
	for i := range diagnoses {
		diagnoses[i].Check = c.name
	}
	return diagnoses
}
