package amqp

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"
)

// ledger is what a broker knows about the deliveries of one channel.
type ledger struct {
	handed map[uint64]bool // delivered and not settled
	acked  []uint64
	back   []uint64 // rejected, given back or dead-lettered
}

// obey carries out an order as RabbitMQ does, and names the tags it concerns.
func (l *ledger) obey(t interface{ Fatalf(string, ...any) }, o order) []uint64 {
	if !l.handed[o.tag] {
		t.Fatalf("order %+v names a delivery the broker does not hold", o)
	}
	tags := []uint64{o.tag}
	if o.multiple {
		for tag := range l.handed {
			if tag < o.tag {
				tags = append(tags, tag)
			}
		}
	}
	for _, tag := range tags {
		delete(l.handed, tag)
	}
	if o.verb == verbAck {
		l.acked = append(l.acked, tags...)
	} else {
		l.back = append(l.back, tags...)
	}
	return tags
}

// windowRun lets handlers settle deliveries in any order and any way while plans
// are made at any time, and holds every order against what the handlers said.
type windowRun struct {
	window *window
	broker *ledger
	said   map[uint64]settlement
	open   []uint64 // with handlers
	next   uint64
	now    time.Time
}

func (r *windowRun) deliver(*rapid.T) {
	r.window.deliver(r.next)
	r.broker.handed[r.next] = true
	r.open = append(r.open, r.next)
	r.next++
}

func (r *windowRun) settle(t *rapid.T) {
	if len(r.open) == 0 {
		return
	}
	i := rapid.IntRange(0, len(r.open)-1).Draw(t, "which")
	tag := r.open[i]
	outcomes := []settlement{acked, acked, acked, rejected, unwanted, unreadable}
	r.said[tag] = rapid.SampledFrom(outcomes).Draw(t, "outcome")
	if !r.window.settle(tag, r.said[tag], r.now) {
		t.Fatalf("settling %d did not count", tag)
	}
	if r.window.settle(tag, acked, r.now) {
		t.Fatalf("settling %d twice counted twice", tag)
	}
	r.open = slices.Delete(r.open, i, i+1)
}

func (r *windowRun) plan(t *rapid.T, flush bool) {
	orders, _ := r.window.plan(r.now, flush)
	for _, o := range orders {
		for _, tag := range r.broker.obey(t, o) {
			outcome, settled := r.said[tag]
			if !settled || (outcome == acked) != (o.verb == verbAck) {
				t.Fatalf("order %+v covers %d, which its handler left %v (settled: %v)", o, tag, outcome, settled)
			}
		}
	}
	r.window.told()
}

func TestWindowNeverSettlesWhatIsNotSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := &windowRun{
			window: newWindow(windowLimits{
				batch: rapid.IntRange(1, 40).Draw(t, "batch"),
				delay: 2 * time.Millisecond,
				stuck: time.Duration(rapid.IntRange(2, 30).Draw(t, "stuck ms")) * time.Millisecond,
			}),
			broker: &ledger{handed: map[uint64]bool{}},
			said:   map[uint64]settlement{},
			next:   1,
			now:    time.Unix(0, 0),
		}
		t.Repeat(map[string]func(*rapid.T){
			"deliver":      run.deliver,
			"deliver more": run.deliver,
			"settle":       run.settle,
			"plan": func(t *rapid.T) {
				run.now = run.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "µs")) * time.Microsecond)
				run.plan(t, false)
			},
		})
		for len(run.open) > 0 {
			run.settle(t)
		}
		run.plan(t, true)
		if len(run.broker.handed) != 0 || !run.window.quiet(0) || len(run.window.entries) != 0 {
			t.Fatalf("after a flush the broker still waits for %v", run.broker.handed)
		}
	})
}

func TestWindowPlans(t *testing.T) {
	limits := windowLimits{batch: 3, delay: 2 * time.Millisecond, stuck: 20 * time.Millisecond}
	at := func(ms float64) time.Time { return time.Unix(0, int64(ms*1e6)) }
	type settled map[uint64]settlement
	for name, test := range map[string]struct {
		settled settled
		at      time.Time
		flush   bool
		want    []order
		again   bool
	}{
		"nothing settled":     {at: at(100)},
		"young and few: wait": {settled: settled{1: acked}, at: at(1), again: true},
		"old enough":          {settled: settled{1: acked}, at: at(2), want: []order{{tag: 1}}},
		"enough at once": {
			settled: settled{1: acked, 2: acked, 3: acked}, at: at(0),
			want: []order{{tag: 3, multiple: true}},
		},
		"behind a slow one: wait": {settled: settled{2: acked, 3: acked}, at: at(5), again: true},
		"stuck behind a slow one": {settled: settled{2: acked, 4: acked}, at: at(20), want: []order{{tag: 2}, {tag: 4}}},
		"prefix and stuck": {
			settled: settled{1: acked, 2: acked, 4: acked}, at: at(20),
			want: []order{{tag: 2, multiple: true}, {tag: 4}},
		},
		"refusal at once": {settled: settled{2: rejected}, at: at(0), want: []order{{verb: verbReject, tag: 2}}},
		"refusal before its cover": {
			settled: settled{1: acked, 2: rejected, 3: acked}, at: at(2),
			want: []order{{verb: verbReject, tag: 2}, {tag: 3, multiple: true}},
		},
		"never ends on a refusal": {
			settled: settled{1: acked, 2: rejected}, at: at(2),
			want: []order{{verb: verbReject, tag: 2}, {tag: 1}},
		},
		"given back": {settled: settled{1: unwanted}, at: at(0), want: []order{{verb: verbRequeue, tag: 1}}},
		"unreadable": {settled: settled{1: unreadable}, at: at(0), want: []order{{verb: verbDeadLetter, tag: 1}}},
		"flush tells everything": {
			settled: settled{1: acked, 3: acked}, at: at(0), flush: true,
			want: []order{{tag: 1}, {tag: 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow(limits)
			for tag := range uint64(4) {
				w.deliver(tag + 1)
			}
			for tag, outcome := range test.settled {
				w.settle(tag, outcome, at(0))
			}
			got, again := w.plan(test.at, test.flush)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(order{})); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
			if (again > 0) != test.again {
				t.Errorf("plan again in %v, want again: %v", again, test.again)
			}
		})
	}
}

func TestWindowAbandonGivesBackWhatIsWithHandlers(t *testing.T) {
	w := newWindow(windowLimits{batch: 10, delay: time.Second, stuck: time.Second})
	for tag := range uint64(3) {
		w.deliver(tag + 1)
	}
	now := time.Unix(0, 0)
	w.settle(2, acked, now)
	w.abandon()
	if w.settle(1, acked, now) {
		t.Error("an outcome after abandoning counted")
	}
	got, _ := w.plan(now, true)
	want := []order{{verb: verbRequeue, tag: 1}, {verb: verbRequeue, tag: 3}, {tag: 2}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(order{})); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

func TestWindowGivesBackWhatItNeverSaw(t *testing.T) {
	w := newWindow(windowLimits{batch: 10, delay: time.Second, stuck: time.Second})
	w.deliver(1)
	w.deliver(4)
	now := time.Unix(0, 0)
	w.settle(1, acked, now)
	w.settle(4, acked, now)
	got, _ := w.plan(now, true)
	want := []order{{verb: verbRequeue, tag: 2}, {verb: verbRequeue, tag: 3}, {tag: 4, multiple: true}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(order{})); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

func TestWindowOfADeadChannelIsSilent(t *testing.T) {
	w := newWindow(windowLimits{batch: 1, delay: time.Second, stuck: time.Second})
	w.deliver(1)
	w.deliver(2)
	now := time.Unix(0, 0)
	w.settle(1, acked, now)
	w.kill()
	if w.settle(2, acked, now) {
		t.Error("an outcome for a dead channel counted")
	}
	if orders, again := w.plan(now, true); len(orders) != 0 || again != 0 {
		t.Errorf("a dead channel was to be told %v", orders)
	}
}
