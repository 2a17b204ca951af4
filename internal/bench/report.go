package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report is everything that one run of the benchmark has found.
type Report struct {
	Conditions Conditions `json:"conditions"`
	// Arms says what each arm is, in the order of the report.
	Arms []ArmSummary `json:"arms"`
	// Rounds counts the measured ones; Mixed is traffic with closes, refunds and
	// repeats, Hot is commands about a few coupons, Claims is claims of one campaign.
	Rounds int  `json:"rounds"`
	Mixed  bool `json:"mixed"`
	Hot    bool `json:"hot,omitempty"`
	Claims bool `json:"claims,omitempty"`
	// Scores compare arms, round by round.
	Scores       []Score       `json:"scores"`
	Measurements []Measurement `json:"measurements"`
}

// ArmSummary is one line of the table.
type ArmSummary struct {
	Name string `json:"name"`
	What string `json:"what"`
	Rate spread `json:"rate"`
}

// Score is a ratio of two arms against its goal.
type Score struct {
	Name  string  `json:"name"`
	Goal  float64 `json:"goal,omitempty"`
	Ratio spread  `json:"ratio"`
}

// comparison is a ratio of the rates of two arms.
type comparison struct{ over, under string }

// add scores a ratio, unless an arm of it was not measured.
func (r *Report) add(name string, goal float64, over, under map[int]float64) {
	if ratios := ratio(over, under); len(ratios) > 0 {
		r.Scores = append(r.Scores, Score{Name: name, Goal: goal, Ratio: spreadOf(ratios)})
	}
}

func (r *Report) summarise(chosen []arm) {
	for _, a := range chosen {
		if figures := pick(r.Measurements, a.name, rate); len(figures) > 0 {
			r.Arms = append(r.Arms, ArmSummary{Name: a.name, What: a.what, Rate: spreadOf(figures)})
		}
	}
	if r.Claims {
		r.scoreClaims()
		return
	}
	of := func(arm string) map[int]float64 { return byRound(r.Measurements, arm, rate) }
	cost := func(arm string) map[int]float64 { return byRound(r.Measurements, arm, totalCPU) }
	ours := of(armOurs)
	r.add("ours / stock-1", 15, ours, of(armStock1))
	r.add("ours / stock-16", 7, ours, of(armStock16))
	r.add("ours / database-only", 0, ours, of(armDatabase))
	r.add("ours / composed ceiling", 0.75, ours, composed(of(armDatabase), of(armBroker)))
	r.add("CPU per message, stock-1 / ours", 0, cost(armStock1), cost(armOurs))
	r.add("CPU per message, stock-16 / ours", 0, cost(armStock16), cost(armOurs))
	for _, c := range hotScores() {
		r.add(c.over+" / "+c.under, 0, of(c.over), of(c.under))
	}
}

// faults lists everything that made a rate worthless.
func (r *Report) faults() []string {
	var all []string
	for _, m := range r.Measurements {
		for _, fault := range m.Faults {
			all = append(all, fmt.Sprintf("%s, round %d: %s", m.Arm, m.Round, fault))
		}
	}
	return all
}

func (r *Report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	traffic := "OrderPlaced and PaymentSucceeded"
	if r.Mixed {
		traffic = "all facts in random order, a tenth repeated"
	}
	if r.Hot {
		traffic = "commands, each of which changes a coupon"
	}
	if r.Claims {
		traffic = "claims of one campaign"
	}
	fmt.Fprintf(w, "\nThroughput, median of %d rounds; %s\n\n", r.Rounds, traffic)
	r.printArms(w)
	if r.Hot {
		r.printFolds(w)
	}
	if r.Claims {
		r.printBooks(w)
	}
	fmt.Fprintln(w)
	r.printScores(w)
	r.printTime(w)
	r.printConditions(w)
	if faults := r.faults(); len(faults) > 0 {
		fmt.Fprintf(w, "\nFaults, each of which sets a rate to 0:\n  %s\n", strings.Join(faults, "\n  "))
	}
	return w.Flush()
}

func (r *Report) printArms(w io.Writer) {
	fmt.Fprintln(w, "arm\tmessages/s\tmin..max\tbatch\tCPU µs/message: worker\tpostgres\trabbitmq\t"+
		"WAL B/message\tcommits/message\tHOT\tpeak RSS")
	for _, a := range r.Arms {
		median := func(figure func(Measurement) float64) float64 {
			return spreadOf(pick(r.Measurements, a.Name, figure)).Median
		}
		cpu := func(name string) float64 { return median(func(m Measurement) float64 { return m.CPU[name] }) }
		fmt.Fprintf(w, "%s\t%.0f\t%.0f..%.0f\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.3f\t%s\t%s\n",
			a.Name, a.Rate.Median, a.Rate.Least, a.Rate.Most,
			orDash("%.0f", median(func(m Measurement) float64 { return m.MeanBatch })),
			cpu(cpuWorker), cpu(cpuPostgres), cpu(cpuRabbitMQ),
			median(func(m Measurement) float64 { return m.WAL }),
			median(func(m Measurement) float64 { return m.Commits }),
			orDash("%.2f", median(func(m Measurement) float64 { return m.HOT })),
			orDash("%.0f MB", median(func(m Measurement) float64 { return float64(m.PeakMemory) / 1e6 })))
	}
	fmt.Fprintln(w)
	for _, a := range r.Arms {
		fmt.Fprintf(w, "%s: %s\n", a.Name, a.What)
	}
}

// printFolds says how many rows a command costs.
func (r *Report) printFolds(w io.Writer) {
	fmt.Fprintln(w, "\narm\tbatch\tupdates of coupons/command\tmin..max\tledger rows/command")
	for _, a := range r.Arms {
		updates := spreadOf(pick(r.Measurements, a.Name, func(m Measurement) float64 { return m.CouponUpdates }))
		ledger := spreadOf(pick(r.Measurements, a.Name, func(m Measurement) float64 { return m.LedgerRows }))
		batch := spreadOf(pick(r.Measurements, a.Name, func(m Measurement) float64 { return m.MeanBatch }))
		fmt.Fprintf(w, "%s\t%.0f\t%.4f\t%.4f..%.4f\t%.4f\n", a.Name, batch.Median, updates.Median, updates.Least, updates.Most,
			ledger.Median)
	}
}

func orDash(format string, figure float64) string {
	if figure == 0 {
		return "-"
	}
	return fmt.Sprintf(format, figure)
}

func (r *Report) printScores(w io.Writer) {
	fmt.Fprintln(w, "ratio\tmedian\tmin..max\tgoal\t")
	for _, s := range r.Scores {
		goal, verdict := "-", ""
		if s.Goal > 0 {
			goal, verdict = fmt.Sprintf("≥ %.4g", s.Goal), "reached"
			if missing := 1 - s.Ratio.Median/s.Goal; missing > 0 {
				verdict = fmt.Sprintf("missed by %.0f %%", 100*missing)
			}
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f..%.2f\t%s\t%s\n", s.Name, s.Ratio.Median, s.Ratio.Least, s.Ratio.Most, goal, verdict)
	}
	if !r.Hot && !r.Claims {
		fmt.Fprintln(w, "composed ceiling: 1 / (1/database-only + 1/broker-only), each of which has the machine to itself; "+
			"the CPU ratios hardly depend on what else runs on the machine")
	}
}

// printTime says where the time of the product goes.
func (r *Report) printTime(w io.Writer) {
	for _, name := range []string{armOurs, armStock16, armStock1, armClaims, armClaimsStock16, armClaimsStock1} {
		var busy []float64
		shares := map[string][]float64{}
		for _, m := range r.Measurements {
			if m.Arm != name || m.Rate == 0 {
				continue
			}
			sum := totalCPU(m)
			busy = append(busy, 100*sum*m.Rate/1e6/float64(r.Conditions.Cores))
			for process, figure := range m.CPU {
				shares[process] = append(shares[process], 100*figure/sum)
			}
		}
		if len(busy) > 0 {
			fmt.Fprintf(w, "%s keeps %.0f %% of %d processors busy: worker %.0f %%, PostgreSQL %.0f %%, RabbitMQ %.0f %%",
				name, spreadOf(busy).Median, r.Conditions.Cores, spreadOf(shares[cpuWorker]).Median,
				spreadOf(shares[cpuPostgres]).Median, spreadOf(shares[cpuRabbitMQ]).Median)
			if redis := shares[cpuRedis]; len(redis) > 0 {
				fmt.Fprintf(w, ", Redis %.0f %%", spreadOf(redis).Median)
			}
			fmt.Fprintln(w, " of that")
		}
	}
}

func (r *Report) printConditions(w io.Writer) { r.Conditions.print(w) }

func (c Conditions) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s, commit %s\n", c.At.Format("2006-01-02 15:04 UTC"), c.Commit)
	fmt.Fprintf(w, "Linux %s; %s, %d processors, %.0f GB; everything runs on this machine\n",
		c.Kernel, c.CPU, c.Cores, float64(c.Memory)/1e9)
	fmt.Fprintf(w, "disk: %s, 8 KiB flushed in %.0f µs (%.0f..%.0f)\n",
		c.FileSystem, c.Flush.Median, c.Flush.Least, c.Flush.Most)
	fmt.Fprintf(w, "PostgreSQL %s; RabbitMQ %s; %s; quorum queues, persistent messages\n", c.PostgreSQL, c.RabbitMQ, c.Go)
	settings := make([]string, 0, len(c.Settings))
	for _, s := range c.Settings {
		settings = append(settings, s.Name+"="+s.Value)
	}
	fmt.Fprintf(w, "PostgreSQL settings: %s\n", strings.Join(slices.Compact(settings), " "))
}
