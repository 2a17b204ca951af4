package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"couponlease/internal/amqp"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
)

// settleTimeout bounds how long the daemons may take until nothing is left to do.
const settleTimeout = 90 * time.Second

// perform starts the daemons, plays the day and the incident, and judges the end.
func (d *demo) perform(ctx context.Context, program string) error {
	if err := d.startDaemons(ctx, program); err != nil {
		return err
	}
	d.title("A DAY AT THE SHOP, AND THE INCIDENT: one coupon, two orders, and a payment that comes late")
	start := time.Now()
	d.say("%d messages of %d other orders are published meanwhile: %d of them repeats, many out of order",
		len(d.traffic.messages), d.options.Orders, len(d.traffic.messages)-len(d.traffic.ids))
	day, playing := errgroup.WithContext(ctx)
	day.Go(func() error { return d.publishTraffic(playing, start) })
	day.Go(func() error {
		story := &incident{broker: d.broker, database: d.database, say: d.say}
		return story.play(playing)
	})
	if err := day.Wait(); err != nil {
		return err
	}
	if err := d.settle(ctx); err != nil {
		return err
	}
	if err := d.stopDaemons(); err != nil {
		return err
	}
	d.say("the daemons have ended when told to, with nothing left undone")
	return d.judge(ctx)
}

func (d *demo) startDaemons(ctx context.Context, program string) error {
	pids := make([]string, daemons)
	for i := range daemons {
		log := filepath.Join(d.scratch, fmt.Sprintf("coupond-%d.log", i+1))
		running, err := startDaemon(program, log, d.place.own)
		if err != nil {
			return err
		}
		d.running = append(d.running, running)
		pids[i] = fmt.Sprint(running.command.Process.Pid)
	}
	for _, running := range d.running {
		if err := running.ready(ctx); err != nil {
			return err
		}
	}
	d.say("%d coupond are ready (pids %s)", daemons, strings.Join(pids, ", "))
	return nil
}

func (d *demo) publishTraffic(ctx context.Context, start time.Time) error {
	facts := make([]console.Fact, len(d.traffic.messages))
	for i, message := range d.traffic.messages {
		facts[i] = message.fact
	}
	if err := d.broker.PublishFacts(ctx, facts); err != nil {
		return err
	}
	d.say("all of them are with the broker")
	err := eventually(ctx, settleTimeout, func(ctx context.Context) (string, error) {
		now, err := d.database.Activity(ctx)
		if err != nil {
			return "", err
		}
		// The few messages of the incident count as well.
		if answered, _ := answers(now); answered < len(d.traffic.ids) {
			return fmt.Sprintf("%d of %d messages have an answer", answered, len(d.traffic.ids)), nil
		}
		return "", nil
	})
	if err != nil {
		return fmt.Errorf("wait for answers: %w", err)
	}
	d.report.Seconds = time.Since(start).Seconds()
	d.say("all of them have their answer")
	return nil
}

// settle waits until every message has its answer, every event has been heard, and
// nothing waits any more: no leases that end, no rows and no messages.
func (d *demo) settle(ctx context.Context) error {
	d.say("%d leases of orders that were never heard of again are running out at the broker", d.traffic.expiring)
	distinct := len(d.traffic.ids) + incidentMessages
	err := eventually(ctx, settleTimeout, func(ctx context.Context) (string, error) {
		now, err := d.database.Activity(ctx)
		if err != nil {
			return "", err
		}
		facts, timers := answers(now)
		full, err := d.waiting(ctx)
		if err != nil {
			return "", err
		}
		return strings.Join(append(d.missing(now, facts-distinct, timers), full...), ", "), nil
	})
	if err != nil {
		return fmt.Errorf("wait until everything is settled: %w", err)
	}
	d.say("every event is with the listener, queues and outbox are empty")
	return nil
}

// answers counts the answers to facts and to timers.
func answers(a console.Activity) (facts, timers int) {
	for _, answer := range a.Answers {
		if answer.Kind == coupon.Kind(coupon.LeaseDue{}) {
			timers += int(answer.Messages)
		} else {
			facts += int(answer.Messages)
		}
	}
	return facts, timers
}

// missing says what has not happened yet.
func (d *demo) missing(now console.Activity, difference, timers int) (missing []string) {
	if difference != 0 {
		missing = append(missing, fmt.Sprintf("%+d answers", difference))
	}
	if timers < d.traffic.expiring {
		missing = append(missing, fmt.Sprintf("%d of %d leases have run out", timers, d.traffic.expiring))
	}
	if now.OutboxMessages+now.OutboxParked > 0 {
		missing = append(missing, fmt.Sprintf("%d messages in the outbox, %d rows parked", now.OutboxMessages, now.OutboxParked))
	}
	if heard := d.listener.heardOf(); int64(heard) != now.Operations {
		missing = append(missing, fmt.Sprintf("events of %d operations heard of %d", heard, now.Operations))
	}
	return missing
}

// waiting says which queues are not empty.
func (d *demo) waiting(ctx context.Context) (full []string, err error) {
	for _, queue := range append(amqp.WorkQueues(), amqp.QueueDead, amqp.QueueUndeliverable) {
		depth, err := d.broker.QueueDepth(ctx, queue)
		if err != nil {
			return nil, err
		}
		if depth > 0 {
			full = append(full, fmt.Sprintf("%d messages in %s", depth, queue))
		}
	}
	return full, nil
}

// judge fills the report and says what came out wrong.
func (d *demo) judge(ctx context.Context) (err error) {
	r := &d.report
	r.Problems = []string{}
	r.Place, r.Orders, r.Coupons = d.place.name, d.options.Orders+d.traffic.expiring+2, len(d.traffic.ends)
	r.Messages, r.Copies = len(d.traffic.ids)+incidentMessages, len(d.traffic.messages)+incidentCopies
	r.Events, r.EventsRepeated = d.listener.tally()
	if r.Activity, err = d.database.Activity(ctx); err != nil {
		return err
	}
	if r.Incident, _, err = d.database.Timeline(ctx, incidentCoupon); err != nil {
		return err
	}
	if r.Check, err = d.database.Check(ctx, console.CheckOptions{Limit: 10, Overdue: time.Minute}); err != nil {
		return err
	}
	letters, err := d.database.DeadStats(ctx, deadletter.Filter{})
	if err != nil {
		return err
	}
	if letters.Letters > 0 {
		r.problem("%d messages became dead letters", letters.Letters)
	}
	if err := d.database.EachHistory(ctx, d.compare); err != nil {
		return err
	}
	r.judgeTotals(d.traffic)
	r.Kept = d.options.Keep
	return nil
}

// compare looks at one coupon: is it where its plot leaves it?
func (d *demo) compare(h coupon.History) error {
	c, r := h.Coupon, &d.report
	want, planned := d.traffic.ends[c.ID]
	switch {
	case !planned:
		r.problem("coupon %s was never planned", c.ID)
	case c.State != want:
		r.problem("coupon %s is %s instead of %s", c.ID, c.State, want)
	}
	deadlines := map[string]time.Time{}
	for i := range h.Leases {
		deadlines[h.Leases[i].LeaseID] = h.Leases[i].Deadline
	}
	for i := range h.Operations {
		op := &h.Operations[i]
		if op.Reason != coupon.ReasonLeaseExpired {
			continue
		}
		r.LeasesExpired++
		late := op.At.Sub(deadlines[op.LeaseID])
		if late < 0 {
			r.problem("the lease of coupon %s was released before its deadline", c.ID)
		}
		r.LatestRelease = max(r.LatestRelease, late.Seconds())
	}
	return nil
}

var errOff = errors.New("something is off")

// Err is nil when everything came out as planned.
func (r Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", errOff, strings.Join(r.Problems, "; "))
}
