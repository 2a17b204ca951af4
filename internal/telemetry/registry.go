package telemetry

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxLabelValues is how many values one label of a counted metric may take; what
// comes later counts as Other.
const maxLabelValues = 100

// Other is the label value of all that is too rare, or too foreign, for its own.
const Other = "other"

// Registry counts and serves the metrics of the table. It is safe for concurrent
// use. Naming a metric that is not in the table, or using it in another way than
// the table says, is a mistake of the program and panics.
type Registry struct {
	registry   *prometheus.Registry
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	labels     map[string][]*values
	kept       map[string]*reader
}

// Emit reports one figure, with a value for each label of its metric.
type Emit func(value float64, labels ...string)

// New makes a registry of all metrics of the table, and of those that the Go
// runtime and the process bring along.
func New() *Registry {
	r := &Registry{
		registry:   prometheus.NewRegistry(),
		counters:   map[string]*prometheus.CounterVec{},
		histograms: map[string]*prometheus.HistogramVec{},
		labels:     map[string][]*values{},
		kept:       map[string]*reader{},
	}
	r.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, m := range Table() {
		for range m.Labels {
			r.labels[m.Name] = append(r.labels[m.Name], &values{})
		}
		r.registry.MustRegister(r.collector(m))
	}
	return r
}

func (r *Registry) collector(m Metric) prometheus.Collector {
	switch {
	case m.Kept:
		kind := prometheus.GaugeValue
		if m.Kind == Counter {
			kind = prometheus.CounterValue
		}
		r.kept[m.Name] = &reader{desc: prometheus.NewDesc(m.Name, m.Help, m.Labels, nil), kind: kind}
		return r.kept[m.Name]
	case m.Kind == Histogram:
		r.histograms[m.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: m.Name, Help: m.Help, Buckets: m.Buckets,
		}, m.Labels)
		return r.histograms[m.Name]
	case m.Kind == Counter:
		r.counters[m.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
		if len(m.Labels) == 0 {
			r.counters[m.Name].WithLabelValues() // there from the start, at 0
		}
		return r.counters[m.Name]
	default:
		panic(fmt.Sprintf("metric %s: a gauge is always kept by the part it is about", m.Name))
	}
}

// Add counts things that happened.
func (r *Registry) Add(name string, things int, labels ...string) {
	counter := r.counters[name]
	if counter == nil {
		panic(fmt.Sprintf("metric %s is not counted here", name))
	}
	counter.WithLabelValues(r.bounded(name, labels)...).Add(float64(things))
}

// Observe notes one size.
func (r *Registry) Observe(name string, size float64, labels ...string) {
	histogram := r.histograms[name]
	if histogram == nil {
		panic(fmt.Sprintf("metric %s is not observed here", name))
	}
	histogram.WithLabelValues(r.bounded(name, labels)...).Observe(size)
}

// Expect has a series there from the start, at 0: only then is its first event a growth
// that can be seen.
func (r *Registry) Expect(name string, labels ...string) {
	labels = r.bounded(name, labels)
	switch counter, histogram := r.counters[name], r.histograms[name]; {
	case counter != nil:
		counter.WithLabelValues(labels...)
	case histogram != nil:
		histogram.WithLabelValues(labels...)
	default:
		panic(fmt.Sprintf("metric %s is neither counted nor observed here", name))
	}
}

// Read says where to get the figures of a kept metric. read is called at each
// scrape, from any goroutine, and must return quickly.
func (r *Registry) Read(name string, read func(Emit)) {
	reader := r.kept[name]
	if reader == nil {
		panic(fmt.Sprintf("metric %s is not kept elsewhere", name))
	}
	reader.read.Store(&read)
}

// Handler serves all metrics.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// bounded replaces label values beyond the most that a label may have.
func (r *Registry) bounded(name string, labels []string) []string {
	for i, known := range r.labels[name] {
		if i < len(labels) && !known.admit(labels[i]) {
			labels[i] = Other
		}
	}
	return labels
}

// values are those that one label has had.
type values struct {
	seen  sync.Map
	count atomic.Int64
}

func (v *values) admit(value string) bool {
	if _, known := v.seen.Load(value); known {
		return true
	}
	if v.count.Add(1) > maxLabelValues {
		v.count.Add(-1)
		return false
	}
	if _, known := v.seen.LoadOrStore(value, nil); known {
		v.count.Add(-1)
	}
	return true
}

// reader collects a kept metric.
type reader struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read atomic.Pointer[func(Emit)]
}

// Describe implements prometheus.Collector.
func (r *reader) Describe(to chan<- *prometheus.Desc) { to <- r.desc }

// Collect implements prometheus.Collector.
func (r *reader) Collect(to chan<- prometheus.Metric) {
	read := r.read.Load()
	if read == nil {
		return
	}
	(*read)(func(value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(r.desc, r.kind, value, labels...)
	})
}
