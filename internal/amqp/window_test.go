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

// TestWindowNeverSettlesWhatIsNotSettled lets handlers settle deliveries in any
// order and any way, while plans are made at any time, and holds every order
// against what the handlers said.
func TestWindowNeverSettlesWhatIsNotSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := windowLimits{
			batch: rapid.IntRange(1, 40).Draw(t, "batch"),
			delay: 2 * time.Millisecond,
			stuck: time.Duration(rapid.IntRange(2, 30).Draw(t, "stuckMs")) * time.Millisecond,
		}
		w := newWindow(limits)
		broker := &ledger{handed: map[uint64]bool{}}
		said := map[uint64]settlement{}
		var open []uint64
		now := time.Unix(0, 0)
		next := uint64(1)
		obeyAll := func(orders []order) {
			for _, o := range orders {
				for _, tag := range broker.obey(t, o) {
					outcome, settled := said[tag]
					if !settled || (outcome == acked) != (o.verb == verbAck) {
						t.Fatalf("order %+v covers %d, which the handler left %v (settled: %v)", o, tag, outcome, settled)
					}
				}
			}
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				w.deliver(next)
				broker.handed[next] = true
				open = append(open, next)
				next++
			case 2:
				if len(open) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				outcome := rapid.SampledFrom([]settlement{acked, acked, acked, rejected, unwanted, unreadable}).Draw(t, "outcome")
				if !w.settle(open[i], outcome, now) {
					t.Fatalf("settling %d did not count", open[i])
				}
				if w.settle(open[i], acked, now) {
					t.Fatalf("settling %d twice counted twice", open[i])
				}
				said[open[i]] = outcome
				open = slices.Delete(open, i, i+1)
			case 3:
				now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "µs")) * time.Microsecond)
				orders, _ := w.plan(now, false)
				obeyAll(orders)
			}
		}
		for _, tag := range open {
			w.settle(tag, acked, now)
			said[tag] = acked
		}
		orders, _ := w.plan(now, true)
		obeyAll(orders)
		if len(broker.handed) != 0 {
			t.Fatalf("after a flush the broker still waits for %v", broker.handed)
		}
		if len(w.entries) != 0 {
			t.Fatalf("%d entries remain in an idle window", len(w.entries))
		}
	})
}

func TestWindowPlans(t *testing.T) {
	limits := windowLimits{batch: 3, delay: 2 * time.Millisecond, stuck: 20 * time.Millisecond}
	at := func(ms float64) time.Time { return time.Unix(0, int64(ms*1e6)) }
	type settling struct {
		tag     uint64
		outcome settlement
	}
	for name, test := range map[string]struct {
		settled []settling
		at      time.Time
		flush   bool
		want    []order
		again   bool
	}{
		"nothing settled":          {at: at(100)},
		"young and few: wait":      {settled: []settling{{1, acked}}, at: at(1), again: true},
		"old enough":               {settled: []settling{{1, acked}}, at: at(2), want: []order{{tag: 1}}},
		"enough at once":           {settled: []settling{{1, acked}, {2, acked}, {3, acked}}, at: at(0), want: []order{{tag: 3, multiple: true}}},
		"behind a slow one: wait":  {settled: []settling{{2, acked}, {3, acked}}, at: at(5), again: true},
		"stuck behind a slow one":  {settled: []settling{{2, acked}, {4, acked}}, at: at(20), want: []order{{tag: 2}, {tag: 4}}},
		"prefix and stuck":         {settled: []settling{{1, acked}, {2, acked}, {4, acked}}, at: at(20), want: []order{{tag: 2, multiple: true}, {tag: 4}}},
		"refusal at once":          {settled: []settling{{2, rejected}}, at: at(0), want: []order{{verb: verbReject, tag: 2}}},
		"refusal before its cover": {settled: []settling{{1, acked}, {2, rejected}, {3, acked}}, at: at(2), want: []order{{verb: verbReject, tag: 2}, {tag: 3, multiple: true}}},
		"never ends on a refusal":  {settled: []settling{{1, acked}, {2, rejected}}, at: at(2), want: []order{{verb: verbReject, tag: 2}, {tag: 1}}},
		"given back":               {settled: []settling{{1, unwanted}}, at: at(0), want: []order{{verb: verbRequeue, tag: 1}}},
		"unreadable":               {settled: []settling{{1, unreadable}}, at: at(0), want: []order{{verb: verbDeadLetter, tag: 1}}},
		"flush tells everything":   {settled: []settling{{1, acked}, {3, acked}}, at: at(0), flush: true, want: []order{{tag: 1}, {tag: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow(limits)
			for tag := range uint64(4) {
				w.deliver(tag + 1)
			}
			for _, s := range test.settled {
				w.settle(s.tag, s.outcome, at(0))
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
