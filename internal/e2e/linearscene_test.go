package e2e

import (
	"fmt"
	"testing"
	"time"

	"couponlease/handlers"
	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
)

// scene asks the coupon one thing after the other, of one replica and of the other, and
// knows every answer beforehand. It is part of the history.
type scene struct {
	t        *testing.T
	replicas []witness
	recorder *recorder
	asked    int
	// first is what was asked first, and its answer.
	first  coupon.Request
	answer *coupon.Answer
}

// sceneKey is what the keys of a scene's commands begin with.
const sceneKey = "scene "

// submit has the next replica answer.
func (s *scene) submit(request coupon.Request, want coupon.Code) coupon.Outcome {
	s.t.Helper()
	s.asked++
	outcome, err := s.replicas[s.asked%len(s.replicas)].Submit(s.t.Context(), request)
	if err != nil || outcome.Code != want {
		s.t.Fatalf("%T %d was answered %+v (%v), want %s", request.Fact, s.asked, outcome, err, want)
	}
	return outcome
}

// want asks under a key of its own.
func (s *scene) want(code coupon.Code, fact coupon.Fact) *coupon.Answer {
	s.t.Helper()
	request := coupon.Request{
		ID: fmt.Sprint("scene m", s.asked), Key: fmt.Sprint(sceneKey, s.asked), Hash: [32]byte{1},
		At: time.Now(), Actor: "scene", Fact: fact,
	}
	answer := s.submit(request, code).Answer
	if s.first.Fact == nil {
		s.first, s.answer = request, answer
	}
	return answer
}

// askAgain repeats the first command: its answer is the same, whatever became of the
// coupon, and its key is good for nothing else.
func (s *scene) askAgain() {
	s.t.Helper()
	again := s.first
	again.ID = fmt.Sprint("scene m", s.asked)
	outcome := s.submit(again, coupon.Duplicate)
	if outcome.Status != coupon.Repeated || outcome.First != s.answer.Code || outcome.Answer.Version != s.answer.Version ||
		*outcome.Answer.Token != *s.answer.Token {
		s.t.Errorf("a repeated key was answered %+v, at first %+v", outcome, s.answer)
	}
	again.ID, again.Hash = fmt.Sprint("scene m", s.asked), [32]byte{2}
	s.submit(again, coupon.IdempotencyMismatch)
}

// play leaves the coupon free.
func (s *scene) play() {
	s.t.Helper()
	a, renewed := s.quote()
	s.release(a, renewed)
	s.redemption(a)
	s.silence()
}

func (s *scene) lock(order string) coupon.LockCoupon {
	return coupon.LockCoupon{Coupon: theCoupon, Order: order}
}

func (s *scene) renew(lease *coupon.Answer, version int64) coupon.RenewLease {
	return coupon.RenewLease{Coupon: theCoupon, Token: *lease.Token, Version: version}
}

func (s *scene) redeem(order string, lease *coupon.Answer, version int64) coupon.RedeemCoupon {
	return coupon.RedeemCoupon{Coupon: theCoupon, Order: order, Token: *lease.Token, Version: version}
}

// quote: one holds the coupon and renews, another does not get it.
func (s *scene) quote() (a, renewed *coupon.Answer) {
	s.t.Helper()
	a = s.want(coupon.OK, s.lock("A"))
	s.askAgain()
	s.want(coupon.Duplicate, s.lock("A"))
	s.want(coupon.AlreadyLocked, s.lock("B"))
	s.want(coupon.TokenMismatch, coupon.RenewLease{Coupon: theCoupon, Token: coupon.TokenHash{1}})
	renewed = s.want(coupon.OK, s.renew(a, a.Version))
	s.want(coupon.VersionConflict, s.renew(a, a.Version))
	return a, renewed
}

// release: who has the token may give the coupon back, and nothing after that.
func (s *scene) release(a, renewed *coupon.Answer) {
	s.t.Helper()
	release := coupon.ReleaseLease{Coupon: theCoupon, Token: coupon.TokenHash{1}}
	s.want(coupon.TokenMismatch, release)
	release.Token, release.Version = *a.Token, a.Version
	s.want(coupon.VersionConflict, release)
	s.want(coupon.VersionConflict, s.redeem("A", a, a.Version))
	s.want(coupon.AlreadyLocked, s.redeem("B", a, renewed.Version))
	s.want(coupon.IllegalState(coupon.Locked), coupon.ReverseChange{Coupon: theCoupon})
	release.Version = renewed.Version
	s.want(coupon.OK, release)
	s.want(coupon.LeaseGone, release)
	s.want(coupon.LeaseGone, s.renew(a, 0))
	s.want(coupon.LeaseGone, s.redeem("A", a, 0))
	s.want(coupon.IllegalState(coupon.Available), coupon.ReverseChange{Coupon: theCoupon})
	s.askAgain()
}

// redemption: the coupon is used once, by the order that holds it, and is taken back.
func (s *scene) redemption(a *coupon.Answer) {
	s.t.Helper()
	b := s.want(coupon.OK, s.lock("B"))
	s.want(coupon.TokenMismatch, s.redeem("B", a, 0))
	s.want(coupon.OK, s.redeem("B", b, b.Version))
	s.want(coupon.ExistingRedemption, s.redeem("B", b, b.Version))
	s.want(coupon.LeaseGone, s.redeem("A", a, 0))
	s.want(coupon.AlreadyUsed, s.lock("A"))
	s.want(coupon.OK, coupon.ReverseChange{Coupon: theCoupon})
	s.askAgain()
}

// silence: a lease ends when it is due, by the hand of a sweeper, and not before.
func (s *scene) silence() {
	s.t.Helper()
	c := s.want(coupon.OK, s.lock("C"))
	due := handlers.DueRequest(coupon.Timer{
		Coupon: theCoupon, Order: "C", LeaseID: c.LeaseID, TokenHash: *c.Token, Version: c.Version, Due: time.Now(),
	})
	s.submit(due, coupon.NoopNotDue)
	s.want(coupon.OK, coupon.ReleaseLease{Coupon: theCoupon, Token: *c.Token})

	before := s.recorder.times(coupon.LeaseDue{}, coupon.Released)
	lock := s.lock("D")
	lock.Lease = quoteTime
	d := s.want(coupon.OK, lock)
	testkit.Eventually(s.t, time.Minute, "a sweeper releases what is due", func() (bool, string) {
		n := s.recorder.times(coupon.LeaseDue{}, coupon.Released)
		return n > before, fmt.Sprint(n)
	})
	s.want(coupon.LeaseGone, s.renew(d, 0))
}
