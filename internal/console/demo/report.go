package demo

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// The messages of the incident: by id, and all copies.
const (
	incidentMessages = 6
	incidentCopies   = 8
)

// Report is how a demo came out.
type Report struct {
	Place string `json:"place"`
	// Daemon says where the daemon's program came from.
	Daemon  string `json:"daemon"`
	Orders  int    `json:"orders"`
	Coupons int    `json:"coupons"`
	// Messages counts the distinct messages published, Copies all of them.
	Messages int `json:"messages"`
	Copies   int `json:"copies"`
	// Seconds is how long it took until each message had its answer.
	Seconds  float64          `json:"seconds"`
	Activity console.Activity `json:"activity"`
	// Events counts the events that the listener heard, by type.
	Events         map[string]int `json:"events"`
	EventsRepeated int            `json:"eventsRepeated"`
	// LeasesExpired counts the leases that ran out, LatestRelease is how many
	// seconds after its deadline the slowest of them was released.
	LeasesExpired int                 `json:"leasesExpired"`
	LatestRelease float64             `json:"latestReleaseSeconds"`
	Incident      console.Timeline    `json:"incident"`
	Check         console.CheckReport `json:"check"`
	Kept          bool                `json:"kept"`
	// Problems lists what did not come out as planned.
	Problems []string `json:"problems"`
}

// maxProblems bounds how many are told.
const maxProblems = 20

func (r *Report) problem(format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// judgeTotals compares what was counted with what was planned.
func (r *Report) judgeTotals(t *traffic) {
	if r.LeasesExpired != t.expiring {
		r.problem("%d leases ran out instead of %d", r.LeasesExpired, t.expiring)
	}
	if r.Check.Found > 0 {
		r.problem("%d violations of invariants, such as: %s", r.Check.Found, r.Check.Violations[0])
	}
	var reviews int
	for _, n := range r.Activity.Reviews {
		reviews += n
	}
	if want := t.reviews + 1; reviews != want {
		r.problem("%d reviews instead of %d", reviews, want)
	}
	if used := r.Incident.Coupon.Redemption; used == nil || used.Order != orderB || r.Incident.Coupon.Redemptions != 1 {
		r.problem("the coupon of the incident was not used once, by order B")
	}
	if !r.Incident.Reviewed(orderA, coupon.ReviewLatePaymentTaken) {
		r.problem("nobody was asked to look at order A of the incident")
	}
}

// WriteText prints the incident as a timeline, what was counted, and the proof.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString("\nWHAT HAPPENED TO THE COUPON OF THE INCIDENT (couponctl timeline)\n\n")
	if err := r.Incident.WriteText(&b); err != nil {
		return err
	}
	b.WriteString("\nWHAT CAME IN, AND WHAT IT WAS ANSWERED\n\n")
	if err := r.Activity.WriteText(&b); err != nil {
		return err
	}
	b.WriteString("\nWHAT WENT OUT\n\n")
	for _, name := range slices.SortedFunc(maps.Keys(r.Events), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Events[b], r.Events[a]), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&b, "%7d  %s\n", r.Events[name], name)
	}
	b.WriteString("\nTHE PROOF (couponctl check)\n\n")
	if err := r.Check.WriteText(&b); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%d messages, %d with repeats, published and answered in %.1f s: %.0f a second\n",
		r.Messages, r.Copies, r.Seconds, float64(r.Copies)/r.Seconds)
	fmt.Fprintf(&b, "%d leases ran out, the slowest was released %.1f s after its deadline, by the broker's delay\n",
		r.LeasesExpired, r.LatestRelease)
	r.verdict(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) verdict(b *strings.Builder) {
	for _, problem := range r.Problems {
		fmt.Fprintf(b, "WRONG: %s\n", problem)
	}
	if len(r.Problems) == 0 {
		fmt.Fprintf(b, "\nAll is well: one coupon, one order. B has it, and A is a case for a person, not a second discount.\n")
	}
	if r.Kept {
		fmt.Fprintf(b, "\nSchema and virtual host %[1]s are still there; `couponctl demo --remove %[1]s` takes them away.\n", r.Place)
	}
}
