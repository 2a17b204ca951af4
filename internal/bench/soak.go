package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"couponlease/internal/fleet"
)

// memoryGoal is what one coupond must not exceed, in bytes.
const memoryGoal = 150e6

// Soak is the memory of one coupond over a long run.
type Soak struct {
	Conditions Conditions `json:"conditions"`
	Messages   int        `json:"messages"`
	Rate       float64    `json:"rate"`
	// Samples are one each second: seconds since the start, messages answered and
	// resident bytes.
	Samples []MemorySample `json:"samples"`
	Peak    int64          `json:"peakBytes"`
	// Early and Late are the medians of the second and of the last quarter of the
	// work, Slope the growth from the one to the other, in bytes a message.
	Early  float64  `json:"earlyBytes"`
	Late   float64  `json:"lateBytes"`
	Slope  float64  `json:"slopeBytesPerMessage"`
	Faults []string `json:"faults,omitempty"`
}

// MemorySample is one look at the process.
type MemorySample struct {
	Seconds  float64 `json:"seconds"`
	Answered int     `json:"answered"`
	Resident int64   `json:"residentBytes"`
}

// soak runs one coupond, as it is configured by default, over n messages.
func soak(t testing.TB, binary string, n int, mix bool, seed uint64) Soak {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	j := &job{binary: binary, messages: n, coupons: couponsFor(n), mix: mix, seed: seed}
	g := prepare(t, ctx, j.traffic())
	g.fill(t, ctx)
	g.Publish(t, g.traffic.messages)
	since, err := g.Store.Ping(ctx)
	must(t, err, "ask for the time")

	p := fleet.Start(t, binary, g.Space, "--log-level=warn")
	g.meter.worker = p.PID()
	s := Soak{Messages: len(g.traffic.messages)}
	stop := make(chan struct{})
	sampled := make(chan error, 1)
	go func() { sampled <- s.sample(p, stop) }()
	m := g.drain(t, ctx, j, p)
	close(stop)
	must(t, <-sampled, "sample the memory")
	s.Rate = m.Rate
	s.Peak, err = peakMemory(p.PID())
	must(t, err, "measure coupond")
	g.verify(t, ctx, &m, since)
	s.Faults = m.Faults
	s.fit()
	return s
}

// sample looks at the process each second.
func (s *Soak) sample(p *fleet.Process, stop <-chan struct{}) error {
	begin := time.Now()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		resident, err := memory(p.PID())
		if err != nil {
			return err
		}
		s.Samples = append(s.Samples, MemorySample{time.Since(begin).Seconds(), settled(p), resident})
		select {
		case <-ticker.C:
		case <-stop:
			return nil
		}
	}
}

// fit compares the quarters of the work. The first fills buffers and caches, and
// what is sampled after the last answer is of no interest.
func (s *Soak) fit() {
	var quarters [4][]float64
	var answered, resident []float64
	for _, sample := range s.Samples {
		if sample.Answered >= s.Messages {
			break
		}
		quarter := 4 * sample.Answered / s.Messages
		quarters[quarter] = append(quarters[quarter], float64(sample.Resident))
		if quarter > 0 {
			answered = append(answered, float64(sample.Answered))
			resident = append(resident, float64(sample.Resident))
		}
	}
	if len(quarters[1]) == 0 || len(quarters[3]) == 0 {
		return // too short to tell
	}
	s.Early, s.Late = spreadOf(quarters[1]).Median, spreadOf(quarters[3]).Median
	s.Slope = slope(answered, resident)
}

func (s *Soak) print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nMemory of one coupond over %d messages, %.0f/s\n\n", s.Messages, s.Rate)
	for _, sample := range s.Samples {
		fmt.Fprintf(&b, "%4.0f s %8d messages %6.1f MB %s\n", sample.Seconds, sample.Answered, float64(sample.Resident)/1e6,
			strings.Repeat("#", int(float64(sample.Resident)/memoryGoal*60)))
	}
	verdict := "below"
	if s.Peak >= memoryGoal {
		verdict = "NOT below"
	}
	fmt.Fprintf(&b, "\npeak %.1f MB, %s the goal of %.0f MB\n", float64(s.Peak)/1e6, verdict, memoryGoal/1e6)
	fmt.Fprintf(&b, "median of the second quarter %.1f MB, of the last %.1f MB; slope after the first %+.0f bytes a message\n",
		s.Early/1e6, s.Late/1e6, s.Slope)
	for _, fault := range s.Faults {
		fmt.Fprintf(&b, "fault: %s\n", fault)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
