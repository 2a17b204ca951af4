package simulate

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// standing is how a coupon stands by its ledger and lease rows alone, as this test
// reads them: the core is judged by it, so it asks the core nothing.
type standing struct {
	row      *coupon.Coupon
	state    coupon.State
	version  int64
	last     string // the latest operation
	lease    *coupon.LeaseRow
	redeemed *coupon.OperationRow
	flow     string // the redeem number that is being worked on
}

// judge looks at every step of a world.
type judge struct {
	ledger  *Ledger
	edges   map[transition]bool
	coupons map[string]*standing
	granted map[string]bool // the ids of leases
	answers map[string]coupon.Answer
	// tookEdges counts the edges taken.
	tookEdges map[transition]int
	rations   rations
}

// transition is one edge of the state machine.
type transition struct {
	operation coupon.Operation
	from, to  coupon.State
}

// transitions are all that the specification has, written down once more.
func transitions() map[transition]bool {
	all := map[transition]bool{}
	for _, line := range []string{
		"ISSUE  AVAILABLE", "LOCK AVAILABLE LOCKED", "RENEW LOCKED LOCKED", "REDEEM LOCKED USED",
		"RELEASE LOCKED AVAILABLE", "RELEASE LOCKED EXPIRED", "EXPIRE AVAILABLE EXPIRED",
		"RETURN USED AVAILABLE", "RETURN USED EXPIRED", "RETIRE USED REFUNDED",
		"REVERSE USED AVAILABLE", "REVERSE USED EXPIRED",
		"REVERSE VOID AVAILABLE", "REVERSE VOID USED", "REVERSE VOID EXPIRED",
		"VOID AVAILABLE VOID", "VOID LOCKED VOID", "VOID USED VOID",
	} {
		part := strings.Split(line, " ")
		all[transition{coupon.Operation(part[0]), coupon.State(part[1]), coupon.State(part[2])}] = true
	}
	return all
}

func newJudge(ledger *Ledger) *judge {
	return &judge{
		ledger: ledger, edges: transitions(), coupons: map[string]*standing{}, granted: map[string]bool{},
		answers: map[string]coupon.Answer{}, tookEdges: map[transition]int{},
		rations: rations{map[string]int64{}, map[usesKey]int64{}},
	}
}

// step judges one request, its outcome, and all that it changed.
func (j *judge) step(r *coupon.Request, outcome *coupon.Outcome, changes *coupon.Changes) error {
	if err := j.allowed(r, outcome, changes); err != nil {
		return err
	}
	j.count(changes)
	for _, row := range changes.Operations {
		if err := j.operation(row, changes); err != nil {
			return err
		}
	}
	if err := j.flows(changes); err != nil {
		return err
	}
	changed := map[string]bool{}
	for i := range changes.Coupons {
		id := changes.Coupons[i].Row.ID
		changed[id] = true
		if err := j.row(id); err != nil {
			return err
		}
	}
	for id, s := range j.coupons {
		if s.row != j.ledger.coupons[id] {
			return fmt.Errorf("coupon %s changed without a word", id)
		}
		if len(j.ledger.operations[id]) != int(s.version) {
			return fmt.Errorf("coupon %s has %d ledger rows at version %d", id, len(j.ledger.operations[id]), s.version)
		}
	}
	return j.answered(r, outcome, changes, len(changed) > 0)
}

// operation reads one ledger row: an edge of the table, one version more, by whoever
// held the coupon.
func (j *judge) operation(row *coupon.OperationRow, changes *coupon.Changes) error {
	s := j.coupons[row.Coupon]
	if s == nil {
		s = &standing{}
		j.coupons[row.Coupon] = s
	}
	edge := transition{row.Operation, row.FromState, row.ToState}
	switch {
	case !j.edges[edge]:
		return fmt.Errorf("coupon %s: %v is no transition", row.Coupon, edge)
	case row.FromState != s.state || row.From != s.version || row.To != s.version+1:
		return fmt.Errorf("coupon %s: %v from version %d to %d, but it is %s at %d",
			row.Coupon, edge, row.From, row.To, s.state, s.version)
	case s.lease != nil && row.LeaseID != s.lease.LeaseID:
		return fmt.Errorf("coupon %s: %v by lease %s, but %s is current", row.Coupon, edge, row.LeaseID, s.lease.LeaseID)
	}
	j.tookEdges[edge]++
	s.state, s.version, s.last = row.ToState, row.To, row.ID
	s.redeemed = nil
	switch row.Operation {
	case coupon.Lock, coupon.Renew:
		granted := evidence(changes, row.ID)
		if granted == nil || j.granted[granted.LeaseID] != (row.Operation == coupon.Renew) {
			return fmt.Errorf("coupon %s: %v has evidence %+v", row.Coupon, edge, granted)
		}
		if row.Operation == coupon.Renew && granted.TokenHash != s.lease.TokenHash {
			return fmt.Errorf("coupon %s: a renewal made another token", row.Coupon)
		}
		j.granted[granted.LeaseID] = true
		s.lease = granted
	default:
		s.lease = nil
	}
	if row.ToState == coupon.Used {
		s.redeemed = row
	}
	return nil
}

func evidence(changes *coupon.Changes, operation string) *coupon.LeaseRow {
	for _, row := range changes.Leases {
		if row.OperationID == operation {
			return row
		}
	}
	return nil
}

// flows: a till's flow begins once and ends once, and lasts as long as its lease.
func (j *judge) flows(changes *coupon.Changes) error {
	for i := range changes.Flows {
		row := &changes.Flows[i]
		s := j.coupons[row.Coupon]
		switch {
		case row.LeaseID == "": // refused
		case row.Step == coupon.FlowProcessing && s.flow == "":
			s.flow = row.RedeemNo
		case row.Step.Ends() && s.flow == row.RedeemNo:
			s.flow = ""
		default:
			return fmt.Errorf("coupon %s: flow %q meets %s of %s", row.Coupon, s.flow, row.Step, row.RedeemNo)
		}
	}
	return nil
}

// row compares the row of a coupon that changed with what the ledger says, and proves
// every invariant on it, replay among them.
func (j *judge) row(id string) error {
	s, c := j.coupons[id], j.ledger.coupons[id]
	s.row = c
	flow := ""
	if s.lease != nil && s.lease.Purpose == coupon.PurposeTill {
		flow = s.lease.Order
	}
	switch {
	case c.State != s.state || c.Version != s.version:
		return fmt.Errorf("coupon %s is %s at %d, by its ledger %s at %d", id, c.State, c.Version, s.state, s.version)
	case (c.Lease == nil) != (s.lease == nil) || (c.Redemption == nil) != (s.redeemed == nil):
		return fmt.Errorf("coupon %s: lease %+v, redemption %+v in state %s", id, c.Lease, c.Redemption, s.state)
	case s.lease != nil && (c.Lease.ID != s.lease.LeaseID || c.Lease.Order != s.lease.Order ||
		c.Lease.TokenHash != s.lease.TokenHash || c.Lease.Version != s.version || !c.Lease.Deadline.Equal(s.lease.Deadline)):
		return fmt.Errorf("coupon %s: lease %+v, by its evidence %+v", id, c.Lease, s.lease)
	case s.redeemed != nil && c.Redemption.ID != s.redeemed.RedemptionID:
		return fmt.Errorf("coupon %s: redemption %+v, by its ledger %s", id, c.Redemption, s.redeemed.RedemptionID)
	case s.flow != flow:
		return fmt.Errorf("coupon %s: flow %q is open, its lease is that of %q", id, s.flow, flow)
	}
	if broken := coupon.Check(j.ledger.evidence(id)); len(broken) > 0 {
		return fmt.Errorf("%v", broken)
	}
	return nil
}

// answered compares what a command was told with what it did, and remembers it.
func (j *judge) answered(r *coupon.Request, outcome *coupon.Outcome, changes *coupon.Changes, changed bool) error {
	if r.Key == "" {
		return nil
	}
	a := outcome.Answer
	if len(changes.Replies) != 1 || changes.Replies[0].Answer != a || changes.Replies[0].To != *r.Reply {
		return fmt.Errorf("answer %+v, but replies %+v", a, changes.Replies)
	}
	first, known := j.answers[r.Key]
	switch {
	case known && first.Hash == r.Hash:
		if outcome.Status != coupon.Repeated || outcome.First != first.Code || !reflect.DeepEqual(*a, first) {
			return fmt.Errorf("key %s was answered %+v, and now %+v: %+v", r.Key, first, outcome, *a)
		}
		return nil
	case known:
		want := coupon.IdempotencyMismatch
		if a.Coupon != "" && j.coupons[a.Coupon] == nil {
			want = coupon.UnknownCoupon // which comes first
		}
		if outcome.Code != want || outcome.Status != coupon.Refused {
			return fmt.Errorf("key %s with other content was answered %+v", r.Key, outcome)
		}
		return nil
	case len(changes.Answers) != 1 || changes.Answers[0] != a:
		return fmt.Errorf("key %s: answers %+v are kept of %+v", r.Key, changes.Answers, a)
	}
	j.answers[r.Key] = *a
	obtains := false
	switch r.Fact.(type) {
	case coupon.LockCoupon, coupon.RedeemRequested:
		obtains = true
	case coupon.SwapCoupons, coupon.SettleOrder, coupon.ReportOrphan, coupon.EndFlow, coupon.ReportFault: // may have had nothing to do
		return nil
	case coupon.ClaimCoupon, coupon.IssueCoupons, coupon.CreateTemplate, coupon.EditTemplate:
		if f, claims := r.Fact.(coupon.ClaimCoupon); claims {
			return j.toldOf(f, outcome)
		}
		return nil
	case coupon.ReturnCoupon, coupon.SettleLease: // may keep the use, or the lease
		return j.tellsRow(a)
	}
	if applied := outcome.Status == coupon.Applied; applied != changed || (a.Token != nil) != (applied && obtains) {
		return fmt.Errorf("applied %t, changed %t, token %t", applied, changed, a.Token != nil)
	}
	if outcome.Status == coupon.Refused {
		return nil
	}
	return j.tellsRow(a)
}

// tellsRow: an answer tells how the coupon stands.
func (j *judge) tellsRow(a *coupon.Answer) error {
	if a.Status == coupon.Refused {
		return nil
	}
	c := j.ledger.coupons[a.Coupon]
	switch {
	case a.State != c.State || a.Version != c.Version:
		return fmt.Errorf("answer %s at %d, but coupon %s is %s at %d", a.State, a.Version, c.ID, c.State, c.Version)
	case a.Token != nil && (*a.Token != c.Lease.TokenHash || a.LeaseID != c.Lease.ID || !a.Deadline.Equal(c.Lease.Deadline)):
		return fmt.Errorf("answer %+v, but the lease is %+v", a, c.Lease)
	}
	return nil
}

// due says whether a timer is about a current lease whose deadline has come.
func (s *standing) due(f coupon.LeaseDue, now time.Time) bool {
	return s.late(now) && s.lease.LeaseID == f.LeaseID && s.version == f.Version && s.lease.TokenHash == f.TokenHash
}

// late says whether the deadline of the current lease has come.
func (s *standing) late(now time.Time) bool {
	return s.lease != nil && !s.lease.Deadline.IsZero() && !now.Before(s.lease.Deadline)
}
