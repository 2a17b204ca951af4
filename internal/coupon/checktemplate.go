package coupon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"couponlease/internal/policy"
)

// Usage is what the coupons of one template say about its counters.
type Usage struct {
	// Issued counts the coupons, Held the uses that count against the budget.
	Issued, Held int64
	// Persons counts the uses that each person holds now.
	Persons map[string]int64
}

// Add counts one coupon of the template. rules gives a policy version; it says
// whether a use that was given back gave its place in the budget back.
func (u *Usage) Add(h History, rules func(version int64) policy.Policy) {
	u.Issued++
	returned := func(op *OperationRow) bool { return rules(op.PolicyVersion).BudgetBack }
	var void *OperationRow
	for i := range h.Operations {
		op := &h.Operations[i]
		switch {
		case op.Operation == Lock:
			u.Held++
		case op.FromState == Locked && op.ToState != Used && op.ToState != Locked:
			u.Held--
		case op.FromState == Used && (op.Operation == Reverse || returned(op)):
			u.Held--
		case op.FromState == Void && op.ToState == Used && void != nil && returned(void):
			u.Held++
		}
		if op.ToState == Void {
			void = op
		}
	}
	if held := h.Coupon.State == Locked || h.Coupon.State == Used; held && h.Coupon.Owner != "" {
		if u.Persons == nil {
			u.Persons = map[string]int64{}
		}
		u.Persons[h.Coupon.Owner]++
	}
}

// CheckTemplate proves invariant 9 for one template: its counters are what its
// coupons say, within the limits, and not below zero. uses are the counters of
// the template's persons; a person without one holds nothing.
func CheckTemplate(t *Template, uses []*Uses, truth Usage) []Violation {
	var violations []Violation
	add := func(format string, args ...any) {
		violations = append(violations,
			Violation{Invariant: 9, Template: t.ID, Detail: fmt.Sprintf(format, args...)})
	}
	if t.Issued != truth.Issued {
		add("%d coupons issued by the counter, %d by the coupons", t.Issued, truth.Issued)
	}
	if t.Budget != NoLimit {
		switch {
		case t.Held != truth.Held:
			add("%d uses held by the counter, %d by the ledger", t.Held, truth.Held)
		case t.Held < 0 || t.Held > t.Budget:
			add("%d uses held of %d", t.Held, t.Budget)
		}
	}
	if t.UsesPerPerson == NoLimit {
		return violations
	}
	counters := map[string]int64{}
	for person := range truth.Persons {
		counters[person] = 0
	}
	for _, u := range uses {
		counters[u.Person] = u.Held
	}
	for _, person := range slices.Sorted(maps.Keys(counters)) {
		held := counters[person]
		switch {
		case held != truth.Persons[person]:
			add("a person holds %d uses by the counter, %d by the coupons (counter %s)", held, truth.Persons[person], pseudonym(person))
		case held < 0 || held > t.UsesPerPerson:
			add("a person holds %d uses of %d (counter %s)", held, t.UsesPerPerson, pseudonym(person))
		}
	}
	return violations
}

// pseudonym tells the counters of persons apart in texts that people send on: the
// first 8 bytes of the SHA-256 of the person's id, by which who has the database finds the
// counter.
func pseudonym(person string) string {
	sum := sha256.Sum256([]byte(person))
	return hex.EncodeToString(sum[:8])
}
