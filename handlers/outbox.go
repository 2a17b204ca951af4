package handlers

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
	"couponlease/messages"
)

// Outbox gives the rows that publish what a transaction changed: its events, in
// the order in which they happened, the answers to its commands, and the timers of
// its leases. A coupon's
// messages always go to the same shard, which keeps their order.
func Outbox(changes *coupon.Changes, shards int) ([]coupon.OutboxRow, error) {
	byShard := make([][]outbox.Message, shards)
	for _, event := range changes.Events {
		m, err := EventMessage(event)
		if err != nil {
			return nil, err
		}
		shard := shardOf(cmp.Or(event.Coupon, event.Order, event.Template), shards)
		byShard[shard] = append(byShard[shard], m)
	}
	for _, reply := range changes.Replies {
		m, err := ReplyMessage(reply)
		if err != nil {
			return nil, err
		}
		shard := replyShard(reply, shards)
		byShard[shard] = append(byShard[shard], m)
	}
	for _, due := range groupTimers(changes.Timers) {
		m, err := timerMessage(due)
		if err != nil {
			return nil, fmt.Errorf("encode timer of lease %s: %w", due[0].LeaseID, err)
		}
		shard := shardOf(due[0].Coupon, shards)
		byShard[shard] = append(byShard[shard], m)
	}
	var rows []coupon.OutboxRow
	for shard, list := range byShard {
		if len(list) == 0 {
			continue
		}
		payload, err := outbox.EncodeRow(list)
		if err != nil {
			return nil, fmt.Errorf("encode outbox row of shard %d: %w", shard, err)
		}
		rows = append(rows, coupon.OutboxRow{Shard: shard, Messages: len(list), Payload: payload})
	}
	return rows, nil
}

func shardOf(key string, shards int) int {
	if shards == 1 {
		return 0
	}
	sum := fnv.New32a()
	sum.Write([]byte(key))
	return int(sum.Sum32() % uint32(shards))
}

// EventMessage gives the message that tells the world of an event.
func EventMessage(event *coupon.Event) (outbox.Message, error) {
	body, properties, err := messages.Encode(event.ID, event.Trace, Event(event))
	if err != nil {
		return outbox.Message{}, fmt.Errorf("encode event %s of coupon %s: %w", event.Kind, event.Coupon, err)
	}
	m := envelope(body, properties)
	m.Exchange, m.Key = messages.ExchangeEvents, properties.Type
	return m, nil
}

func envelope(body []byte, properties messages.Properties) outbox.Message {
	return outbox.Message{
		ID: properties.MessageID, Type: properties.Type, Time: properties.Timestamp,
		ContentType: properties.ContentType, CorrelationID: properties.CorrelationID,
		Headers: properties.Headers(), Body: body,
	}
}

// groupTimers puts together the leases that are due in the same second, so that
// the broker's cost falls as load grows. Due seconds are rounded up: a timer may
// be late, but not early.
func groupTimers(timers []coupon.Timer) [][]coupon.Timer {
	bySecond := map[int64][]coupon.Timer{}
	for _, timer := range timers {
		second := dueSecond(timer)
		bySecond[second] = append(bySecond[second], timer)
	}
	var groups [][]coupon.Timer
	for _, list := range bySecond {
		groups = slices.AppendSeq(groups, slices.Chunk(list, messages.MaxLeasesPerTimer))
	}
	slices.SortFunc(groups, func(a, b []coupon.Timer) int {
		return cmp.Or(cmp.Compare(dueSecond(a[0]), dueSecond(b[0])), cmp.Compare(a[0].LeaseID, b[0].LeaseID))
	})
	return groups
}

func dueSecond(timer coupon.Timer) int64 {
	return timer.Due.Add(time.Second - time.Nanosecond).Unix()
}

func timerMessage(timers []coupon.Timer) (outbox.Message, error) {
	m := messages.LeaseExpired{}
	for _, timer := range timers {
		m.Leases = append(m.Leases, messages.LeaseDue{
			LeaseID: timer.LeaseID, CouponID: timer.Coupon, OrderID: timer.Order,
			TokenHash: hex.EncodeToString(timer.TokenHash[:]), Version: timer.Version, Deadline: timer.Due,
		})
	}
	id := fmt.Sprintf("timer/%s/%d", timers[0].LeaseID, timers[0].Version)
	body, properties, err := messages.Encode(id, "", m)
	if err != nil {
		return outbox.Message{}, err
	}
	contract, _ := messages.ContractOf(messages.TypeLeaseExpired)
	due := envelope(body, properties)
	due.NotBefore = time.Unix(dueSecond(timers[0]), 0).UTC()
	due.DelayQueue, due.Mandatory = contract.Queue, true
	return due, nil
}
