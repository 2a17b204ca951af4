package main

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		figures []float64
		want    spread
	}{
		"odd":  {[]float64{3, 1, 2}, spread{2, 1, 3}},
		"even": {[]float64{4, 1, 2, 3}, spread{2.5, 1, 4}},
		"one":  {[]float64{7}, spread{7, 7, 7}},
	} {
		if got := spreadOf(c.figures); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := spreadOf(nil); !math.IsNaN(got.Median) {
		t.Errorf("no figures: %+v", got)
	}
}

func TestRatioLeavesOutRoundsThatFailed(t *testing.T) {
	got := spreadOf(ratio(map[int]float64{1: 100, 2: 300, 3: 500}, map[int]float64{1: 10, 2: 0}))
	if want := (spread{10, 10, 10}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := ratio(map[int]float64{1: 0}, map[int]float64{1: 10}); len(got) != 1 || got[0] != 0 {
		t.Errorf("an arm that failed has the ratio %v, want 0", got)
	}
}

func TestComposedAddsTimes(t *testing.T) {
	got := composed(map[int]float64{1: 10, 2: 10}, map[int]float64{1: 40, 2: 0})
	if len(got) != 1 || got[1] != 8 {
		t.Errorf("got %v, want 8 in round 1 only", got)
	}
}

func TestSlope(t *testing.T) {
	if got := slope([]float64{0, 1, 2}, []float64{5, 7, 9}); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
}
