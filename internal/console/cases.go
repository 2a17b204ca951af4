package console

import (
	"context"
	"fmt"
	"io"
	"slices"

	"couponlease/internal/simulate"
)

// CasesOptions say which cases are run, and what is told meanwhile.
type CasesOptions struct {
	// Only names the cases to run; none means all.
	Only []string
	// Report is told of each case as it ends; nil tells nobody.
	Report func(simulate.Report) error
}

// CasesSummary is the closing count of a run of acceptance cases.
type CasesSummary struct {
	Passed        int `json:"passed"`
	Failed        int `json:"failed"`
	Unsupported   int `json:"unsupported"`
	Interleavings int `json:"interleavings"`
	// Reports are one a case, in the order of the file.
	Reports []simulate.Report `json:"cases"`
}

// WriteText prints the closing count; the cases are reported as they end.
func (s CasesSummary) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("%s: %d ok, %d failed, %d unsupported (%s)", count(len(s.Reports), "case"),
		s.Passed, s.Failed, s.Unsupported, count(s.Interleavings, "order")+" of delivery")
	return out.err
}

// RunCases runs acceptance cases, each in every order its parallel steps allow
// and each from a fresh world that open gives.
func RunCases(
	ctx context.Context, source io.Reader, open simulate.Open, options CasesOptions,
) (CasesSummary, error) {
	summary := CasesSummary{Reports: []simulate.Report{}}
	cases, err := simulate.ReadCases(source)
	if err != nil {
		return summary, &usageError{fmt.Errorf("read the cases: %w", err)}
	}
	if missing := missingCases(cases, options.Only); len(missing) > 0 {
		return summary, &usageError{fmt.Errorf("there is no case %s in the file", missing[0])}
	}
	seen := map[string]int{}
	for i := range cases {
		c := cases[i]
		if len(options.Only) > 0 && !slices.Contains(options.Only, c.ID) {
			continue
		}
		// Cases share one database, and their ids keep them apart in it.
		if seen[c.ID]++; seen[c.ID] > 1 {
			c.ID = fmt.Sprintf("%s~%d", c.ID, seen[c.ID])
		}
		report := simulate.RunCase(ctx, &c, open)
		report.ID = cases[i].ID
		if err := ctx.Err(); err != nil {
			return summary, err
		}
		summary.add(report)
		if options.Report == nil {
			continue
		}
		if err := options.Report(report); err != nil {
			return summary, err
		}
	}
	return summary, nil
}

func (s *CasesSummary) add(report simulate.Report) {
	s.Reports = append(s.Reports, report)
	s.Interleavings += report.Interleavings
	switch report.Verdict {
	case simulate.Passed:
		s.Passed++
	case simulate.Failed:
		s.Failed++
	default:
		s.Unsupported++
	}
}

func missingCases(cases []simulate.Case, only []string) []string {
	return slices.DeleteFunc(slices.Clone(only), func(id string) bool {
		return slices.ContainsFunc(cases, func(c simulate.Case) bool { return c.ID == id })
	})
}

// WriteCase prints one case as it ended, with its steps when verbose.
func WriteCase(w io.Writer, report simulate.Report, verbose bool) error {
	out := lines{w: w}
	switch report.Verdict {
	case simulate.Passed:
		out.addf("ok           %s  %s", report.ID, report.Title)
	case simulate.Failed:
		out.addf("FAIL         %s  %s: %s", report.ID, report.Title, report.Detail)
	default:
		out.addf("unsupported  %s  %s", report.ID, report.Detail)
	}
	if verbose {
		for _, step := range report.Steps {
			out.addf("               %s", step)
		}
	}
	return out.err
}
