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
	// Issued counts the coupons that claims and batches made, Imported the others, Held the
	// uses that count against the budget.
	Issued, Imported, Held int64
	// Persons counts the uses that each person holds now, Claimed what each has claimed.
	Persons, Claimed map[string]int64
}

// Add counts one coupon of the template. rules gives a policy version; it says
// whether a use that was given back gave its place in the budget back.
func (u *Usage) Add(h History, rules func(version int64) policy.Policy) {
	switch c := h.Coupon; {
	case c.Origin == OriginImport:
		u.Imported++
	case c.Origin == OriginClaim && c.Owner != "":
		if u.Claimed == nil {
			u.Claimed = map[string]int64{}
		}
		u.Claimed[c.Owner]++
		u.Issued++
	default:
		u.Issued++
	}
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
// coupons say, within the limits, and not below zero. uses and claims are the counters of
// the template's persons; a person without one holds, or has claimed, nothing.
func CheckTemplate(t *Template, uses []*Uses, claims []*Claims, truth Usage) []Violation {
	var violations []Violation
	add := func(format string, args ...any) {
		violations = append(violations,
			Violation{Invariant: 9, Template: t.ID, Detail: fmt.Sprintf(format, args...)})
	}
	if t.Issued != truth.Issued {
		add("%d coupons issued by the counter, %d by the coupons", t.Issued, truth.Issued)
	}
	if t.Imported != truth.Imported {
		add("%d coupons imported by the counter, %d by the coupons", t.Imported, truth.Imported)
	}
	if t.Total != NoLimit && t.Issued > t.Total {
		add("%d coupons issued of %d", t.Issued, t.Total)
	}
	if t.Budget != NoLimit {
		switch {
		case t.Held != truth.Held:
			add("%d uses held by the counter, %d by the ledger", t.Held, truth.Held)
		case t.Held < 0 || t.Held > max(t.Budget, t.HeldMost):
			add("%d uses held of %d", t.Held, t.Budget)
		}
	}
	held := map[string]int64{}
	for _, u := range uses {
		held[u.Person] = u.Held
	}
	if t.UsesPerPerson != NoLimit {
		eachPerson(held, truth.Persons, func(person string, counted, actual int64) {
			switch most := max(t.UsesPerPerson, t.UsesMost); {
			case counted != actual:
				add("a person holds %d uses by the counter, %d by the coupons (counter %s)", counted, actual, HashPerson(person))
			case counted < 0 || counted > most:
				add("a person holds %d uses of %d (counter %s)", counted, most, HashPerson(person))
			}
		})
	}
	claimed := map[string]int64{}
	for _, c := range claims {
		claimed[c.Person] = c.Count
	}
	eachPerson(claimed, truth.Claimed, func(person string, counted, actual int64) {
		if counted != actual || counted < 0 {
			add("a person has claimed %d by the counter, %d by the coupons (counter %s)", counted, actual, HashPerson(person))
		}
	})
	return violations
}

// eachPerson tells, in order, of everybody who is counted or has something.
func eachPerson(counted, actual map[string]int64, tell func(person string, counted, actual int64)) {
	persons := maps.Clone(counted)
	maps.Copy(persons, actual)
	for _, person := range slices.Sorted(maps.Keys(persons)) {
		tell(person, counted[person], actual[person])
	}
}

// HashPerson tells the counters of persons apart in texts that people send on: the
// first 8 bytes of the SHA-256 of the person's id, by which who has the database finds the
// counter.
func HashPerson(person string) string {
	sum := sha256.Sum256([]byte(person))
	return hex.EncodeToString(sum[:8])
}
