// Command bench measures the product against what it replaces, on real services:
// full queues are drained by the stock Watermill subscriber with one transaction
// per message, and by coupond as it is meant to run, and the parts of coupond are
// measured alone. Every arm does the same writes and publishes the same events
// with the same durability, and ends with the invariants checked on everything: a
// violation, a lost message or a lost event sets its rate to 0.
//
// The arms take turns, in an order that changes with each round, so that the
// ratios hold although the machine has moods. Run it with `make bench`.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"couponlease/internal/fleet"
)

// options are what the command line says.
type options struct {
	rounds  int
	seconds float64
	mix     bool
	hot     bool
	claims  bool
	only    string
	seed    uint64
	soak    int
	verify  int
	json    string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "`rounds` to measure, after one that only finds out how fast each arm is")
	flag.Float64Var(&o.seconds, "seconds", 10, "`seconds` that each arm is measured for in a round, about")
	flag.BoolVar(&o.mix, "mix", false, "measure with closes, refunds and a tenth of the messages repeated")
	flag.BoolVar(&o.hot, "hot", false, "measure commands that are all about a few coupons instead")
	flag.BoolVar(&o.claims, "claims", false, "measure claims of one campaign instead")
	flag.StringVar(&o.only, "arms", "", "measure only these `arms`, separated by commas")
	flag.Uint64Var(&o.seed, "seed", 1, "`seed` of the traffic and of the order of the arms")
	flag.IntVar(&o.soak, "soak", 0, "instead of measuring arms, watch the memory of coupond over so many `messages`")
	flag.IntVar(&o.verify, "verify", 0, "instead of measuring arms, fill so many `coupons` and verify their ledgers")
	flag.StringVar(&o.json, "json", "", "also write the report to this `file`")
	flag.Parse()
	if err := run(o, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// errFaults ends a run whose report tells what was wrong.
var errFaults = errors.New("there were faults")

func run(o options, out io.Writer) error {
	if (o.hot || o.claims) && (o.mix || o.soak > 0 || o.verify > 0) || o.hot && o.claims {
		return errors.New("-hot and -claims measure commands of their own: leave out the other, -mix, -soak and -verify")
	}
	all := arms()
	switch {
	case o.hot:
		all = hotArms()
	case o.claims:
		all = claimsArms()
	}
	chosen, err := choose(all, o.only)
	if err != nil {
		return err
	}
	var faulty bool
	err = within("bench", func(t testing.TB) {
		binary := ""
		if o.soak > 0 || o.verify == 0 && slices.ContainsFunc(chosen, func(a arm) bool { return a.daemon }) {
			binary = fleet.Binary(t)
		}
		conditions := readConditions(t)
		var report interface {
			print(out io.Writer) error
		}
		switch {
		case o.verify > 0:
			l := verifyLedgers(t, o.verify, o.rounds)
			l.Conditions = conditions
			report, faulty = &l, len(l.Faults) > 0
		case o.soak > 0:
			s := soak(t, binary, o.soak, o.mix, o.seed)
			s.Conditions = conditions
			report, faulty = &s, len(s.Faults) > 0
		default:
			r := compare(o, binary, chosen)
			r.Conditions = conditions
			report, faulty = &r, len(r.faults()) > 0
		}
		must(t, report.print(out), "print the report")
		if o.json != "" {
			must(t, save(o.json, report), "save the report")
		}
	})
	if err == nil && faulty {
		err = errFaults
	}
	return err
}

func save(path string, report any) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// choose gives the arms named, all if none is.
func choose(all []arm, only string) ([]arm, error) {
	if only == "" {
		return all, nil
	}
	var chosen []arm
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(a arm) bool { return a.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no arm %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Shares of the work.
const (
	// warmUp is how much is answered before the measurement begins, compared with
	// what is measured.
	warmUp = 0.1
	// calibration is how long the round takes that finds the rates, compared with a
	// measured one.
	calibration = 0.3
	// leastMessages keeps a slow arm from measuring next to nothing.
	leastMessages = 500
	// mostMessages bounds what is in memory, here and in the queues, however fast an arm is.
	mostMessages = 500_000
)

// compare measures the arms, round by round.
func compare(o options, binary string, chosen []arm) Report {
	r := Report{Rounds: o.rounds, Mixed: o.mix, Hot: o.hot, Claims: o.claims}
	expected := map[string]float64{}
	for _, a := range chosen {
		expected[a.name] = a.guess
	}
	random := rand.New(rand.NewPCG(o.seed, 0))
	for round := range o.rounds + 1 {
		seconds := o.seconds
		if round == 0 {
			seconds *= calibration
		}
		sizes, coupons := sizesOf(expected, seconds)
		for _, i := range random.Perm(len(chosen)) {
			a := chosen[i]
			m := measure(a, round, &job{
				binary: binary, messages: sizes[a.name], warm: int(warmUp * float64(sizes[a.name])), coupons: coupons,
				mix: o.mix, seed: o.seed + uint64(round), control: round == 0,
			})
			fmt.Fprintf(os.Stderr, "round %d of %d: %-13s %7.0f/s in %.1f s %s\n", round, o.rounds, a.name, m.Rate, m.Seconds,
				strings.Join(m.Faults, "; "))
			if m.Rate > 0 {
				expected[a.name] = m.Rate
			}
			if round > 0 || len(m.Faults) > 0 {
				r.Measurements = append(r.Measurements, m)
			}
		}
	}
	r.summarise(chosen)
	return r
}

// sizesOf says how many messages keep each arm busy for so long, and how many
// coupons have to be there: as many for every arm.
func sizesOf(expected map[string]float64, seconds float64) (sizes map[string]int, coupons int) {
	sizes = map[string]int{}
	for name, rate := range expected {
		sizes[name] = min(max(leastMessages, int(rate*seconds)), mostMessages)
		coupons = max(coupons, couponsFor(int((1+warmUp)*float64(sizes[name]))))
	}
	return sizes, coupons
}

// measure runs one arm on services of its own. What it cannot do is a fault.
func measure(a arm, round int, j *job) (m Measurement) {
	err := within(fmt.Sprintf("bench %s %d", a.name, round), func(t testing.TB) { m = a.measure(t, j) })
	m.Arm, m.Round = a.name, round
	if err != nil {
		m.fault("%v", err)
	}
	return m
}
