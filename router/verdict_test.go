package router

import (
	"context"
	"errors"
	"testing"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/messages"
)

var tiers = judge{tiers: []time.Duration{time.Second, 8 * time.Second}}

func TestAnswersAreJudged(t *testing.T) {
	ok := coupon.Outcome{Status: coupon.Applied, Code: coupon.OK}
	dead := coupon.Outcome{Status: coupon.Dead, Code: coupon.IDReuse, Detail: "why"}
	poison := &batcher.Error{Class: batcher.Poison, Size: 1, Err: errors.New("bad row")}
	tests := []struct {
		name     string
		outcomes []coupon.Outcome
		errs     []error
		attempt  int
		want     Verdict
	}{
		{"one answer", []coupon.Outcome{ok}, []error{nil}, 1, Verdict{Action: Ack, Reason: "OK"}},
		{"a refusal is an answer", []coupon.Outcome{{Status: coupon.Refused, Code: "REJECTED:VOIDED"}}, []error{nil}, 1,
			Verdict{Action: Ack, Reason: "REJECTED:VOIDED"}},
		{"a repeat is an answer", []coupon.Outcome{{Status: coupon.Repeated, Code: coupon.DuplicateEvent}}, []error{nil}, 1,
			Verdict{Action: Ack, Reason: "DUPLICATE_EVENT"}},
		{"a dead one is buried", []coupon.Outcome{dead}, []error{nil}, 1,
			Verdict{Action: Bury, Reason: "ID_REUSE", Detail: "why"}},
		{"one failure of two retries both", []coupon.Outcome{ok, {}}, []error{nil, poison}, 1,
			Verdict{Action: Retry, Reason: ReasonHandlerError, Detail: poison.Error(), Delay: time.Second}},
		{"the second attempt waits longer", []coupon.Outcome{{}}, []error{poison}, 2,
			Verdict{Action: Retry, Reason: ReasonHandlerError, Detail: poison.Error(), Delay: 8 * time.Second}},
		{"then it is buried", []coupon.Outcome{{}}, []error{poison}, 3,
			Verdict{Action: Bury, Reason: ReasonHandlerError, Detail: poison.Error()}},
		{"stopping gives it back, whatever else failed", []coupon.Outcome{{}, {}}, []error{poison, batcher.ErrClosed}, 9,
			Verdict{Action: Requeue, Reason: "STOPPING", Detail: batcher.ErrClosed.Error()}},
		{"so does a cancelled caller", []coupon.Outcome{{}}, []error{context.Canceled}, 9,
			Verdict{Action: Requeue, Reason: "STOPPING", Detail: context.Canceled.Error()}},
		{"no request is nothing to do", nil, nil, 1, Verdict{Action: Ack, Reason: "OK"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := tiers.answered(test.outcomes, test.errs, test.attempt); got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestOnlyAnUnknownVersionIsTriedAgain(t *testing.T) {
	for _, reason := range []messages.Reason{
		messages.BodyTooLarge, messages.EmptyBody, messages.BadJSON, messages.IDMissing, messages.FieldInvalid,
	} {
		if got := tiers.malformed(&messages.Malformed{Reason: reason}, 1); got.Action != Bury {
			t.Errorf("%s: %s, want BURY", reason, got.Action)
		}
	}
	unknown := &messages.Malformed{Reason: messages.SchemaUnknown}
	for attempt, want := range map[int]Action{1: Retry, 2: Retry, 3: Bury} {
		if got := tiers.malformed(unknown, attempt); got.Action != want {
			t.Errorf("attempt %d: %s, want %s", attempt, got.Action, want)
		}
	}
}

func TestDefaultTiersAreOneDelayLevelEach(t *testing.T) {
	for _, tier := range DefaultTiers() {
		if seconds := int64(tier / time.Second); seconds&(seconds-1) != 0 || tier%time.Second != 0 {
			t.Errorf("%s is not a power of two of seconds", tier)
		}
	}
}
