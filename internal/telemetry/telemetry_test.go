package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// served is what a scrape answers.
func served(t *testing.T, r *Registry) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	r.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("scrape answers %d: %s", recorder.Code, recorder.Body)
	}
	return recorder.Body.String()
}

// use gives every metric of the table one sample.
func use(r *Registry) {
	for _, m := range Table() {
		labels := make([]string, len(m.Labels))
		for i := range labels {
			labels[i] = "x"
		}
		switch {
		case m.Kept:
			r.Read(m.Name, func(emit Emit) { emit(1, labels...) })
		case m.Kind == Histogram:
			r.Observe(m.Name, 1, labels...)
		default:
			r.Add(m.Name, 1, labels...)
		}
	}
}

// TestTableAndRegistryAgree: what the table says is what a scrape gets, by name,
// kind, help and labels, and nothing of ours is served that the table has not.
func TestTableAndRegistryAgree(t *testing.T) {
	r := New()
	use(r)
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Kind, Help string
		Labels     []string
	}
	got, want := map[string]line{}, map[string]line{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "couponlease_") {
			continue
		}
		l := line{Kind: strings.ToLower(family.GetType().String()), Help: family.GetHelp()}
		for _, label := range family.GetMetric()[0].GetLabel() {
			l.Labels = append(l.Labels, label.GetName())
		}
		got[family.GetName()] = l
	}
	for _, m := range Table() {
		l := line{Kind: string(m.Kind), Help: m.Help}
		l.Labels = append(l.Labels, m.Labels...)
		want[m.Name] = l
	}
	less := cmp.Transformer("set", func(names []string) map[string]bool {
		set := map[string]bool{}
		for _, name := range names {
			set[name] = true
		}
		return set
	})
	if diff := cmp.Diff(want, got, less); diff != "" {
		t.Errorf("metrics (-table +registry):\n%s", diff)
	}
}

func TestNamesFollowTheRules(t *testing.T) {
	form := regexp.MustCompile(`^couponlease_[a-z]+(_[a-z]+)*$`)
	for _, m := range Table() {
		if !form.MatchString(m.Name) {
			t.Errorf("%s: not of the form couponlease_words", m.Name)
		}
		if counts := strings.HasSuffix(m.Name, "_total"); counts != (m.Kind == Counter) {
			t.Errorf("%s: counters, and only they, end in _total", m.Name)
		}
		if !strings.HasSuffix(m.Help, ".") || len(m.Help) < 10 {
			t.Errorf("%s: help %q is not a sentence", m.Name, m.Help)
		}
		if (len(m.Buckets) > 0) != (m.Kind == Histogram) {
			t.Errorf("%s: histograms, and only they, have buckets", m.Name)
		}
	}
}

func TestLabelsAreBounded(t *testing.T) {
	r := New()
	for i := range 3 * maxLabelValues {
		r.Add(MessagesSettled, 1, "queue", fmt.Sprint("type", i), "ACK", "OK")
	}
	r.Add(MessagesSettled, 1, "queue", "type7", "ACK", "OK")
	text := served(t, r)
	if got := strings.Count(text, "\n"+MessagesSettled+"{"); got != maxLabelValues+1 {
		t.Errorf("%d series, want %d", got, maxLabelValues+1)
	}
	for _, want := range []string{
		fmt.Sprintf("%s{action=\"ACK\",code=\"OK\",queue=\"queue\",type=\"other\"} %d\n", MessagesSettled, 2*maxLabelValues),
		MessagesSettled + "{action=\"ACK\",code=\"OK\",queue=\"queue\",type=\"type7\"} 2\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("scrape does not hold %q", want)
		}
	}
}

func TestExpectedSeriesBeginAtZero(t *testing.T) {
	r := New()
	r.Expect(Redelivered, "q")
	r.Expect(DelayLag, "q")
	text := served(t, r)
	for _, want := range []string{Redelivered + "{queue=\"q\"} 0", DelayLag + "_count{queue=\"q\"} 0"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("scrape does not hold %q", want)
		}
	}
}

func TestKeptFiguresAreReadAtEachScrape(t *testing.T) {
	r := New()
	figure := 1.0
	r.Read(RequestsQueued, func(emit Emit) { emit(figure) })
	for _, want := range []float64{1, 2} {
		figure = want
		if text := served(t, r); !strings.Contains(text, fmt.Sprintf("\n%s %v\n", RequestsQueued, want)) {
			t.Errorf("scrape does not show %v", want)
		}
	}
}

func TestMistakesOfTheProgramPanic(t *testing.T) {
	r := New()
	tests := map[string]func(){
		"counting what is not in the table":  func() { r.Add("couponlease_nothing_total", 1) },
		"counting what is kept elsewhere":    func() { r.Add(RequestsCommitted, 1) },
		"observing a counter":                func() { r.Observe(EnginePauses, 1) },
		"reading what is counted here":       func() { r.Read(EnginePauses, func(Emit) {}) },
		"expecting what is kept elsewhere":   func() { r.Expect(RequestsCommitted) },
		"another number of labels than said": func() { r.Add(MessagesSettled, 1, "queue") },
	}
	for name, mistake := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			mistake()
		})
	}
}

func TestRuntimeMetricsComeAlong(t *testing.T) {
	text := served(t, New())
	for _, want := range []string{"\ngo_goroutines ", "\nprocess_open_fds "} {
		if !strings.Contains(text, want) {
			t.Errorf("scrape does not hold %q", want)
		}
	}
}
