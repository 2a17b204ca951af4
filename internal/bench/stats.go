package main

import (
	"math"
	"slices"
)

// spread is the middle of some figures, and how far they are apart.
type spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"min"`
	Most   float64 `json:"max"`
}

// spreadOf is of no use without figures: all NaN.
func spreadOf(figures []float64) spread {
	if len(figures) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	ordered := slices.Sorted(slices.Values(figures))
	half := len(ordered) / 2
	median := ordered[half]
	if len(ordered)%2 == 0 {
		median = (ordered[half-1] + ordered[half]) / 2
	}
	return spread{median, ordered[0], ordered[len(ordered)-1]}
}

// pick collects one figure of all measurements of an arm, by round.
func pick(all []Measurement, arm string, figure func(Measurement) float64) []float64 {
	var figures []float64
	for _, m := range all {
		if m.Arm == arm {
			figures = append(figures, figure(m))
		}
	}
	return figures
}

func rate(m Measurement) float64 { return m.Rate }

// totalCPU is what all processes together spend on one message, in microseconds;
// 0 when the arm failed.
func totalCPU(m Measurement) float64 {
	var sum float64
	if m.Rate > 0 {
		for _, figure := range m.CPU {
			sum += figure
		}
	}
	return sum
}

// byRound gives one figure of an arm.
func byRound(all []Measurement, arm string, figure func(Measurement) float64) map[int]float64 {
	figures := map[int]float64{}
	for _, m := range all {
		if m.Arm == arm {
			figures[m.Round] = figure(m)
		}
	}
	return figures
}

// ratio compares two figures of each round. A round in which the second is
// missing, or 0 because its arm failed, proves nothing and is left out.
func ratio(over, under map[int]float64) []float64 {
	var ratios []float64
	for round, figure := range over {
		if base := under[round]; base > 0 {
			ratios = append(ratios, figure/base)
		}
	}
	return ratios
}

// composed is the rate that two parts would have one after the other, given what
// each has alone: on a machine whose processors are busy, their times add up.
func composed(a, b map[int]float64) map[int]float64 {
	rates := map[int]float64{}
	for round, first := range a {
		if second := b[round]; first > 0 && second > 0 {
			rates[round] = 1 / (1/first + 1/second)
		}
	}
	return rates
}

// slope is that of the straight line that fits the points best.
func slope(xs, ys []float64) float64 {
	var x, y, xx, xy float64
	n := float64(len(xs))
	for i := range xs {
		x, y = x+xs[i], y+ys[i]
		xx, xy = xx+xs[i]*xs[i], xy+xs[i]*ys[i]
	}
	return (n*xy - x*y) / (n*xx - x*x)
}
