package amqp

import (
	"sync"
	"time"
)

// settlement is what is known about one delivery.
type settlement uint8

const (
	pending    settlement = iota // with the handler
	acked                        // handled, the broker does not know yet
	rejected                     // refused by the handler, to be told to the broker
	unwanted                     // never handled, to be given back
	unreadable                   // not even a message, to be dead-lettered
	concluded                    // the broker knows
)

// verb is what the broker is told.
type verb uint8

const (
	verbAck        verb = iota
	verbReject          // give back, and count it as a failed delivery
	verbRequeue         // give back
	verbDeadLetter      // hand to the dead-letter exchange
)

// order is one settlement frame for the broker.
type order struct {
	verb     verb
	tag      uint64
	multiple bool
}

// windowLimits say when settlements are due.
type windowLimits struct {
	batch int           // acknowledge as soon as so many messages are covered
	delay time.Duration // acknowledge at the latest after so long
	stuck time.Duration // acknowledge singly what waits so long behind a slow message
}

// window tracks the deliveries of one channel. The broker numbers them without
// gaps. The broker is told about many at once: everything up to the first
// message still being handled. A message is never covered by an acknowledgement
// before it is settled, and refusals are told before the acknowledgement that
// would cover them.
//
// Settling may happen from many goroutines. Orders must be carried out in the
// order planned, by one goroutine.
type window struct {
	limits windowLimits
	due    chan struct{} // signals that plan has something to do
	calmer chan struct{} // signals that quiet may have become true

	mu      sync.Mutex // guards what follows
	base    uint64     // tag of entries[head]
	head    int
	entries []entry
	pending int       // entries with the handler
	refused int       // entries to be rejected or given back
	acked   int       // entries handled and not yet told
	oldest  time.Time // when the oldest of these was settled, zero when none
	telling bool      // orders were planned and are not known to be carried out
	dead    bool
}

type entry struct {
	state settlement
	at    time.Time // when acked
}

func newWindow(limits windowLimits) *window {
	return &window{limits: limits, base: 1, due: make(chan struct{}, 1), calmer: make(chan struct{}, 1)}
}

// deliver records that the broker handed out tag.
func (w *window) deliver(tag uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// A gap is a delivery that the client library dropped, as it does with those of
	// a consumer just cancelled. Nobody handled it, so it goes back.
	for w.base+uint64(len(w.entries)-w.head) < tag {
		w.entries = append(w.entries, entry{state: unwanted})
		w.refused++
		signal(w.due)
	}
	w.entries = append(w.entries, entry{})
	w.pending++
}

// settle records the outcome of a delivery. Repeats, and outcomes for a channel
// that is gone, change nothing; the result tells whether it counted.
func (w *window) settle(tag uint64, outcome settlement, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead || tag < w.base || tag-w.base >= uint64(len(w.entries)-w.head) {
		return false
	}
	e := &w.entries[w.head+int(tag-w.base)]
	if e.state != pending {
		return false
	}
	e.state, e.at = outcome, now
	w.pending--
	if outcome != acked {
		w.refused++
		signal(w.due)
		return true
	}
	w.acked++
	if w.acked == 1 {
		w.oldest = now
	}
	// The first one starts the clock of the delay, the batch ends it early.
	if w.acked == 1 || w.acked%w.limits.batch == 0 {
		signal(w.due)
	}
	return true
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// quiet tells whether the broker has been told of every delivery but the given
// number that is still held back.
func (w *window) quiet(held int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending <= held && w.acked+w.refused == 0 && !w.telling
}

// told records that the planned orders were carried out.
func (w *window) told() {
	w.mu.Lock()
	w.telling = false
	w.mu.Unlock()
	signal(w.calmer)
}

// plan returns the orders that are due, and after how long to plan again; zero
// means only after the next signal. With flush everything settled is due.
func (w *window) plan(now time.Time, flush bool) (orders []order, again time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead || w.acked+w.refused == 0 {
		return nil, 0
	}
	if w.refused > 0 {
		orders = w.planRefusals(orders)
	}
	if w.acked > 0 && (flush || w.acked >= w.limits.batch || now.Sub(w.oldest) >= w.limits.delay) {
		orders = w.planPrefix(orders)
		orders = w.planStuck(orders, now, flush)
	}
	w.trim()
	w.telling = true
	return orders, w.nextPlan(now)
}

// refusalVerb is how the broker learns of a delivery that was not handled.
func refusalVerb(state settlement) (told verb, refused bool) {
	switch state {
	case rejected:
		return verbReject, true
	case unwanted:
		return verbRequeue, true
	case unreadable:
		return verbDeadLetter, true
	default:
		return 0, false
	}
}

func (w *window) planRefusals(orders []order) []order {
	for i := w.head; i < len(w.entries); i++ {
		e := &w.entries[i]
		if told, refused := refusalVerb(e.state); refused {
			orders = append(orders, order{verb: told, tag: w.tagAt(i)})
			e.state = concluded
		}
	}
	w.refused = 0
	return orders
}

// planPrefix covers everything up to the first message still being handled.
func (w *window) planPrefix(orders []order) []order {
	last, covered := -1, 0
	for i := w.head; i < len(w.entries) && w.entries[i].state != pending; i++ {
		if w.entries[i].state == acked {
			w.entries[i].state = concluded
			last = i
			covered++
		}
	}
	if covered == 0 {
		return orders
	}
	w.acked -= covered
	return append(orders, order{verb: verbAck, tag: w.tagAt(last), multiple: covered > 1})
}

// planStuck covers messages that waited too long behind a slow one.
func (w *window) planStuck(orders []order, now time.Time, flush bool) []order {
	w.oldest = time.Time{}
	if w.acked == 0 {
		return orders
	}
	for i := w.head; i < len(w.entries); i++ {
		e := &w.entries[i]
		if e.state != acked {
			continue
		}
		if flush || now.Sub(e.at) >= w.limits.stuck {
			orders = append(orders, order{verb: verbAck, tag: w.tagAt(i)})
			e.state = concluded
			w.acked--
			continue
		}
		if w.oldest.IsZero() || e.at.Before(w.oldest) {
			w.oldest = e.at
		}
	}
	return orders
}

// nextPlan is when the oldest settlement falls due: after the delay when it is
// new, or as stuck when the prefix did not reach it.
func (w *window) nextPlan(now time.Time) time.Duration {
	if w.acked == 0 {
		return 0
	}
	return max(w.limits.delay-now.Sub(w.oldest)%w.limits.delay, 100*time.Microsecond)
}

func (w *window) tagAt(i int) uint64 { return w.base + uint64(i-w.head) }

// trim forgets concluded deliveries at the front.
func (w *window) trim() {
	for w.head < len(w.entries) && w.entries[w.head].state == concluded {
		w.head++
		w.base++
	}
	if w.head == len(w.entries) {
		w.entries, w.head = w.entries[:0], 0
	} else if w.head > 1024 && w.head > len(w.entries)/2 {
		n := copy(w.entries, w.entries[w.head:])
		w.entries, w.head = w.entries[:n], 0
	}
}

// abandon gives back everything still with the handlers: their outcomes no
// longer count. The orders must be carried out by whoever carries out plans.
func (w *window) abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := w.head; i < len(w.entries); i++ {
		if w.entries[i].state == pending {
			w.entries[i].state = unwanted
			w.refused++
		}
	}
	w.pending = 0
	signal(w.due)
}

// kill makes all further settlements count for nothing: the channel is gone, and
// its tags mean other messages on the next one.
func (w *window) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}
