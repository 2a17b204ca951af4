package coupon_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// played gives what is kept of c1 after the steps of a story.
func played(t *testing.T, steps string) coupon.History {
	t.Helper()
	s := newStage(t)
	for _, line := range strings.Split(strings.TrimSpace(steps), "\n") {
		s.step(line, strings.Fields(line))
	}
	history, _, err := s.ledger.History(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	return history
}

const (
	// leasedStory ends with a lease that was bound and follows two others.
	leasedStory = `
		0 placed A c1
		10 closed A timeout
		20 lock c1 Q
		140 due c1
		150 lock c1 B
		160 placed B c1`
	// usedStory ends in the second use, after a refund in parts ended the first.
	usedStory = `
		0 placed A c1
		10 paid A
		20 refund A id=r1 amount=40
		30 refund A id=r2 amount=60
		40 placed B c1
		50 paid B
		55 paid B id=p2
		60 refund B id=r3 amount=100`
	returnedStory = `
		0 placed A c1
		10 paid A
		20 refund A`
	voidedStory = `
		given policy full=VOID
		0 placed A c1
		10 paid A
		20 refund A`
)

// planted is a fault in a history, and the one invariant that it breaks.
type planted struct {
	name      string
	invariant int
	story     string
	fault     func(*coupon.History)
}

func faults() []planted {
	return slices.Concat(rowFaults(), ledgerFaults(), evidenceFaults(), decisionFaults())
}

func rowFaults() []planted {
	return []planted{
		{"locked without a lease", 1, leasedStory, func(h *coupon.History) { h.Coupon.Lease = nil }},
		{"leased while free", 1, returnedStory, func(h *coupon.History) {
			h.Coupon.Lease = &coupon.Lease{ID: h.Leases[0].LeaseID, Version: 2, Generation: 1, Purpose: coupon.PurposeOrder,
				AcquiredVersion: 2, Deadline: h.Leases[0].Deadline, TokenHash: h.Leases[0].TokenHash, Order: "A"}
		}},
		{"leased to another order", 1, leasedStory, func(h *coupon.History) { h.Coupon.Lease.Order = "Z" }},
		{"leased by another lease", 1, leasedStory, func(h *coupon.History) { h.Coupon.Lease.ID = h.Leases[0].LeaseID }},
		{"used without a redemption", 2, usedStory, func(h *coupon.History) { h.Coupon.Redemption = nil }},
		{"redeemed while free", 2, returnedStory, func(h *coupon.History) {
			h.Coupon.Redemption = &h.Redemptions[0].Redemption
		}},
		{"redeemed for another order", 2, usedStory, func(h *coupon.History) {
			h.Coupon.Redemption.Order = "Z"
		}},
		{"the token of another lease", 3, leasedStory, func(h *coupon.History) {
			h.Coupon.Lease.TokenHash = h.Leases[0].TokenHash
		}},
		{"another state than the ledger's", 7, usedStory, func(h *coupon.History) {
			h.Coupon.State, h.Coupon.Redemption = coupon.Available, nil
		}},
		{"a state that does not exist", 7, returnedStory, func(h *coupon.History) { h.Coupon.State = "LOST" }},
		{"another version than the ledger's", 7, usedStory, func(h *coupon.History) { h.Coupon.Version++ }},
		{"another validity than the ledger's", 7, usedStory, func(h *coupon.History) {
			h.Coupon.ValidUntil = h.Coupon.ValidUntil.Add(time.Second)
		}},
		{"a lease that was not counted", 7, leasedStory, func(h *coupon.History) { h.Coupon.Leases-- }},
		{"another deadline than granted", 7, leasedStory, func(h *coupon.History) {
			h.Coupon.Lease.Deadline = h.Coupon.Lease.Deadline.Add(time.Hour)
		}},
		{"a lease of a version that granted nothing", 7, leasedStory, func(h *coupon.History) {
			h.Coupon.Lease.Version = 1
		}},
		{"another payment than redeemed", 7, usedStory, func(h *coupon.History) { h.Coupon.Redemption.Payment = "p9" }},
	}
}

func ledgerFaults() []planted {
	return []planted{
		{"a gap", 4, usedStory, func(h *coupon.History) { h.Operations = slices.Delete(h.Operations, 2, 3) }},
		{"a fork", 4, usedStory, func(h *coupon.History) { h.Operations = slices.Insert(h.Operations, 2, h.Operations[1]) }},
		{"a step of two", 4, usedStory, func(h *coupon.History) { h.Operations[3].To++ }},
		{"an old lease is renewed", 3, leasedStory, func(h *coupon.History) {
			h.Operations[6].LeaseID = h.Leases[0].LeaseID
		}},
		{"an old lease is released", 3, leasedStory, func(h *coupon.History) {
			h.Operations[4].LeaseID = h.Leases[0].LeaseID
		}},
		{"an old lease redeems", 3, usedStory, func(h *coupon.History) {
			h.Operations[5].LeaseID = h.Leases[0].LeaseID
		}},
		{"another order redeems", 3, usedStory, func(h *coupon.History) { h.Operations[5].Order = "A" }},
		{"starts where it was not", 7, usedStory, func(h *coupon.History) { h.Operations[1].FromState = coupon.Expired }},
		{"what the table does not have", 7, leasedStory, func(h *coupon.History) {
			h.Operations[2].Operation = coupon.Retire
		}},
		{"a close ends a use", 10, usedStory, func(h *coupon.History) { h.Operations[3].Operation = coupon.Release }},
		{"a redemption that is not active ends", 2, usedStory, func(h *coupon.History) {
			h.Operations[3].RedemptionID = "r9"
		}},
		{"a redemption ends twice", 11, usedStory, func(h *coupon.History) {
			again := h.Operations[3]
			again.From, again.To, again.FromState, again.BusinessKey = 6, 7, coupon.Used, ""
			h.Operations = append(h.Operations, again)
			h.Coupon.State, h.Coupon.Version, h.Coupon.Redemption = coupon.Available, 7, nil
		}},
		{"a key has two effects", 8, usedStory, func(h *coupon.History) {
			h.Operations[5].BusinessKey = h.Operations[2].BusinessKey
		}},
	}
}

func evidenceFaults() []planted {
	return []planted{
		{"two leases share a token", 3, leasedStory, func(h *coupon.History) {
			h.Leases[1].TokenHash = h.Leases[0].TokenHash
		}},
		{"a lease changes its token", 3, leasedStory, func(h *coupon.History) {
			h.Leases[2].TokenHash = coupon.HashToken("other")
		}},
		{"a lock without evidence", 5, usedStory, func(h *coupon.History) { h.Leases = h.Leases[1:] }},
		{"a renewal without evidence", 5, leasedStory, func(h *coupon.History) {
			h.Operations[6].ID = "other"
		}},
		{"evidence of a lease that nobody granted", 5, usedStory, func(h *coupon.History) {
			spare := h.Leases[0]
			spare.Version = 99
			h.Leases = append(h.Leases, spare)
		}},
		{"evidence of a lease twice", 5, usedStory, func(h *coupon.History) { h.Leases = append(h.Leases, h.Leases[0]) }},
		{"a redemption without evidence", 5, usedStory, func(h *coupon.History) {
			h.Redemptions, h.Decisions = h.Redemptions[:1], h.Decisions[:2]
		}},
		{"evidence of a redemption that nobody made", 5, usedStory, func(h *coupon.History) {
			spare := h.Redemptions[1]
			spare.ID, spare.Cycle = "r9", 3
			h.Redemptions = append(h.Redemptions, spare)
		}},
		{"two redemptions of one use cycle", 2, usedStory, func(h *coupon.History) {
			spare := h.Redemptions[1]
			spare.ID = "r9"
			h.Redemptions = append(h.Redemptions, spare)
		}},
		{"a return does not name what it takes back", 6, usedStory, func(h *coupon.History) {
			h.Operations[3].Original = h.Operations[1].ID
		}},
	}
}

func decisionFaults() []planted {
	return []planted{
		{"a return nobody decided", 10, returnedStory, func(h *coupon.History) { h.Decisions = nil }},
		{"a withdrawal nobody decided", 10, voidedStory, func(h *coupon.History) { h.Decisions = nil }},
		{"a return of a part", 10, returnedStory, func(h *coupon.History) { h.Decisions[0].Refunded = 99 }},
		{"a return of a surplus", 10, returnedStory, func(h *coupon.History) {
			h.Decisions[0].Decision = "RETURN:OVERPAYMENT"
		}},
		{"what is kept is ended", 10, returnedStory, func(h *coupon.History) { h.Decisions[0].Decision = "KEEP:FULL" }},
		{"another policy than the coupon's", 6, usedStory, func(h *coupon.History) { h.Decisions[0].PolicyVersion = 1 }},
		{"no redemption", 6, usedStory, func(h *coupon.History) { h.Decisions[2].RedemptionID = "" }},
		{"a return that was not carried out", 6, usedStory, func(h *coupon.History) {
			h.Decisions[2].Decision = "RETURN:PARTIAL"
		}},
		{"a return for another refund", 6, returnedStory, func(h *coupon.History) { h.Operations[3].Refund = "r9" }},
		{"one refund is decided twice", 8, usedStory, func(h *coupon.History) {
			h.Decisions = append(h.Decisions, h.Decisions[0])
		}},
	}
}

// TestCheckFindsPlantedFaults: each fault is found, and nothing else is said.
func TestCheckFindsPlantedFaults(t *testing.T) {
	for _, fault := range faults() {
		t.Run(fault.name, func(t *testing.T) {
			history := played(t, fault.story)
			if broken := coupon.Check(history); len(broken) > 0 {
				t.Fatalf("before the fault: %v", broken)
			}
			fault.fault(&history)
			broken := coupon.Check(history)
			if len(broken) == 0 {
				t.Fatal("nothing found")
			}
			for _, violation := range broken {
				if violation.Invariant != fault.invariant || violation.Coupon != "c1" {
					t.Errorf("want only invariant %d of c1, got %s", fault.invariant, violation)
				}
			}
		})
	}
}
