// Package simulate is the product's world in memory: a ledger that behaves like
// the database, a deterministic source of ids and tokens, and the runner of the
// acceptance cases. It is the oracle the real store is held against.
package simulate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// Ledger keeps every row in memory and serves one transaction at a time.
type Ledger struct {
	// Now is the clock that judges deadlines.
	Now    func() time.Time
	Rules  coupon.Rules
	Source coupon.Source

	mutex     sync.Mutex
	failures  []error
	receipts  map[string]*coupon.Receipt
	answers   map[string]*coupon.Answer
	flows     map[string][]coupon.FlowRow
	orders    map[string]*coupon.Order
	coupons   map[string]*coupon.Coupon
	templates map[string]*coupon.Template
	policies  map[int64]policy.Policy
	uses      map[usesKey]*coupon.Uses
	claims    map[usesKey]*coupon.Claims
	numbers   map[usesKey]numbers
	aliases   map[string]string
	versions  []coupon.TemplateVersion

	operations  map[string][]coupon.OperationRow
	leases      map[string][]coupon.LeaseRow
	redemptions map[string][]coupon.RedemptionRow
	decisions   map[string][]coupon.RefundDecision
	reviews     []coupon.ReviewRow
	resolutions map[string]*coupon.Resolution
	timers      []coupon.Timer
	outbox      []coupon.OutboxRow
	audits      []coupon.AuditRow
}

type usesKey struct{ template, person string }

// numbers are the highest that a person's claims without a batch have, and how many claims
// there are.
type numbers struct{ most, claims int64 }

// NewLedger gives an empty ledger with the default return policy.
func NewLedger(now func() time.Time, rules coupon.Rules, source coupon.Source) *Ledger {
	standard := policy.Default()
	return &Ledger{
		Now: now, Rules: rules, Source: source,
		receipts:    map[string]*coupon.Receipt{},
		answers:     map[string]*coupon.Answer{},
		flows:       map[string][]coupon.FlowRow{},
		orders:      map[string]*coupon.Order{},
		coupons:     map[string]*coupon.Coupon{},
		templates:   map[string]*coupon.Template{},
		policies:    map[int64]policy.Policy{standard.Version: standard},
		uses:        map[usesKey]*coupon.Uses{},
		claims:      map[usesKey]*coupon.Claims{},
		numbers:     map[usesKey]numbers{},
		aliases:     map[string]string{},
		operations:  map[string][]coupon.OperationRow{},
		leases:      map[string][]coupon.LeaseRow{},
		redemptions: map[string][]coupon.RedemptionRow{},
		decisions:   map[string][]coupon.RefundDecision{},
		resolutions: map[string]*coupon.Resolution{},
	}
}

// Fail makes the coming transactions end with these errors after they decided
// and before they commit, one each.
func (l *Ledger) Fail(errs ...error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.failures = append(l.failures, errs...)
}

// Apply runs decide on copies of the rows the requests need and keeps what it
// changed, all or nothing.
func (l *Ledger) Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	world := l.load(requests)
	decide(world)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if len(l.failures) > 0 {
		err := l.failures[0]
		l.failures = l.failures[1:]
		return err
	}
	return l.commit(world)
}

func (l *Ledger) load(requests []coupon.Request) *coupon.World {
	world := coupon.NewWorld(l.Now().Truncate(time.Microsecond), l.Rules, l.Source)
	for i := range requests {
		r := &requests[i]
		if receipt := l.receipts[r.ID]; receipt != nil {
			kept := *receipt
			world.AddReceipt(&kept)
		}
		if answer := l.answers[r.Key]; answer != nil {
			kept := *answer
			world.AddAnswer(&kept)
		}
		l.loadPersons(world, r.Fact)
		l.loadOrders(world, r.Fact.Orders())
		l.loadCoupons(world, r.Fact.Coupons())
	}
	for missing := world.MissingOrders(); len(missing) > 0; missing = world.MissingOrders() {
		l.loadOrders(world, missing)
	}
	l.loadCoupons(world, world.NamedCoupons())
	for i := range requests {
		switch f := requests[i].Fact.(type) {
		case coupon.ReverseChange:
			l.loadLast(world, f.Coupon)
		case coupon.ResolveReview:
			l.loadReview(world, f.Review)
		case coupon.EndFlow:
			if steps := l.flows[f.RedeemNo]; len(steps) == 1 {
				world.AddFlow(steps[0])
			}
		}
	}
	for i := range requests {
		l.loadRules(world, requests[i].Fact)
	}
	for _, id := range world.NamedCoupons() {
		l.loadRulesOf(world, id)
	}
	return world
}

func (l *Ledger) loadOrders(world *coupon.World, ids []string) {
	for _, id := range ids {
		switch row := l.orders[id]; {
		case world.OrderRow(id) != nil:
		case row != nil:
			world.AddOrder(row.Clone())
		default:
			world.AddOrder(&coupon.Order{ID: id})
		}
	}
}

func (l *Ledger) loadCoupons(world *coupon.World, ids []string) {
	for _, id := range ids {
		if row := l.coupons[id]; row != nil && world.Coupon(id) == nil {
			world.AddCoupon(row.Clone())
		}
	}
}

// loadLast hands over the latest ledger row of a coupon, with the redemption that it
// names.
func (l *Ledger) loadLast(world *coupon.World, id string) {
	rows := l.operations[id]
	if len(rows) == 0 {
		return
	}
	last := coupon.Last{Operation: rows[len(rows)-1]}
	for i := range l.redemptions[id] {
		if row := l.redemptions[id][i]; row.ID == last.Operation.RedemptionID {
			last.Redemption = &row.Redemption
		}
	}
	world.AddLast(last)
}

// loadReview hands over a case and what was decided about it.
func (l *Ledger) loadReview(world *coupon.World, id string) {
	for i := range l.reviews {
		if l.reviews[i].ID == id {
			review := &coupon.Review{ReviewRow: l.reviews[i]}
			if resolution := l.resolutions[id]; resolution != nil {
				kept := *resolution
				review.Resolution = &kept
			}
			world.AddReview(review)
		}
	}
}

// commit keeps the changes, and refuses what the database would refuse.
func (l *Ledger) commit(world *coupon.World) error {
	changes := world.Changes()
	for _, change := range changes.Coupons {
		var version int64
		if row := l.coupons[change.Row.ID]; row != nil {
			version = row.Version
		}
		if version != change.Base {
			return fmt.Errorf("coupon %s is at version %d, not %d", change.Row.ID, version, change.Base)
		}
	}
	for _, op := range changes.Operations {
		for i := range l.operations[op.Coupon] {
			known := &l.operations[op.Coupon][i]
			if known.To == op.To || op.BusinessKey != "" && known.BusinessKey == op.BusinessKey {
				return fmt.Errorf("coupon %s: version %d or key %q is taken", op.Coupon, op.To, op.BusinessKey)
			}
		}
	}
	if err := l.refuseTaken(changes); err != nil {
		return err
	}
	l.keepRows(changes)
	l.keepEvidence(changes)
	for _, rules := range world.NewPolicies() {
		l.policies[rules.Version] = rules
	}
	return nil
}

// refuseTaken refuses a key that has its answer, and a step of a flow that was done.
func (l *Ledger) refuseTaken(changes *coupon.Changes) error {
	for _, answer := range changes.Answers {
		if l.answers[answer.Key] != nil {
			return fmt.Errorf("key %q has its answer", answer.Key)
		}
	}
	for _, row := range changes.Flows {
		if slices.ContainsFunc(l.flows[row.RedeemNo], func(known coupon.FlowRow) bool {
			return known.Step.Ends() == row.Step.Ends()
		}) {
			return fmt.Errorf("redemption %s: step %s comes twice", row.RedeemNo, row.Step)
		}
	}
	return nil
}

func (l *Ledger) keepRows(changes *coupon.Changes) {
	for _, change := range changes.Coupons {
		l.coupons[change.Row.ID] = change.Row.Clone()
		if change.Base == 0 {
			l.keepNumber(change.Row)
		}
	}
	for _, order := range changes.Orders {
		l.orders[order.ID] = order.Clone()
	}
	for _, change := range changes.Templates {
		row := *change.Row
		l.templates[row.ID] = &row
	}
	for _, version := range changes.Versions {
		l.versions = append(l.versions, *version)
	}
	for _, claims := range changes.Claims {
		row := *claims
		l.claims[usesKey{row.Template, row.Person}] = &row
	}
	for _, uses := range changes.Uses {
		row := *uses
		l.uses[usesKey{row.Template, row.Person}] = &row
	}
	for _, receipt := range changes.Receipts {
		row := *receipt
		l.receipts[row.ID] = &row
	}
}

// keepNumber keeps the number of a claim.
func (l *Ledger) keepNumber(c *coupon.Coupon) {
	if c.Origin != coupon.OriginClaim || c.ClaimNo == 0 {
		return
	}
	key := usesKey{c.Template, c.Owner}
	n := l.numbers[key]
	n.claims++
	if c.Batch == "" {
		n.most = max(n.most, c.ClaimNo)
	}
	l.numbers[key] = n
}

func (l *Ledger) keepEvidence(changes *coupon.Changes) {
	for _, op := range changes.Operations {
		l.operations[op.Coupon] = append(l.operations[op.Coupon], *op)
	}
	for _, lease := range changes.Leases {
		l.leases[lease.Coupon] = append(l.leases[lease.Coupon], *lease)
	}
	for _, redemption := range changes.Redemptions {
		l.redemptions[redemption.Coupon] = append(l.redemptions[redemption.Coupon], redemption)
	}
	for _, decision := range changes.Decisions {
		l.decisions[decision.Coupon] = append(l.decisions[decision.Coupon], *decision)
	}
	for _, answer := range changes.Answers {
		row := *answer
		l.answers[row.Key] = &row
	}
	for _, row := range changes.Flows {
		l.flows[row.RedeemNo] = append(l.flows[row.RedeemNo], row)
	}
	for _, review := range changes.Reviews {
		l.reviews = append(l.reviews, *review)
	}
	for _, resolution := range changes.Resolutions {
		row := *resolution
		l.resolutions[row.Review] = &row
	}
	for _, timer := range changes.Timers {
		if !timer.Rearmed {
			l.timers = append(l.timers, timer)
		}
	}
	l.outbox = append(l.outbox, changes.Outbox...)
	l.keepAudits(changes.Audits)
}
