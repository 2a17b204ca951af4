package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// commit is the last round trip: everything the decision left to write, and COMMIT.
// Nothing to write is rolled back, which is cheaper than an empty commit.
//
// The database itself counts the rows of each statement, and one that misses aborts
// the transaction before COMMIT is reached.
func (tx *transaction) commit(ctx context.Context) error {
	changes := tx.world.Changes()
	if err := tx.locksHold(changes); err != nil {
		return err
	}
	t := &trip{}
	if err := tx.queueWrites(t, changes); err != nil {
		return err
	}
	if len(t.purpose) == 0 {
		return nil
	}
	t.commit()
	return commitOutcome(t.send(ctx, tx.store, tx.conn))
}

// locksHold is the pair of the locking: what is about to be written was locked.
func (tx *transaction) locksHold(changes *coupon.Changes) error {
	for _, o := range changes.Orders {
		if tx.orders[o.ID] == nil {
			return fmt.Errorf("order %s: %w", o.ID, ErrUnlocked)
		}
	}
	for _, change := range changes.Templates {
		if l := tx.templates[change.Row.ID]; l != nil && !l.locked {
			return fmt.Errorf("template %s: %w", change.Row.ID, ErrUnlocked)
		}
	}
	for _, u := range changes.Uses {
		if !tx.uses[usesKey{u.Template, u.Person}] {
			return fmt.Errorf("uses of template %s by one person: %w", u.Template, ErrUnlocked)
		}
	}
	return nil
}

// queueWrites adds the statements in the order that all writers share; those that have
// nothing to write are left out. Rows are sorted by key, except refunds and decisions,
// which keep the order in which they came.
func (tx *transaction) queueWrites(t *trip, changes *coupon.Changes) error {
	created, changed := splitCoupons(changes.Coupons)
	write(t, "compare-and-set coupons", updateCouponsSQL, changed, couponUpdate)
	write(t, "create coupons", insertCouponsSQL, created, couponInsert)
	write(t, "write the ledger", insertOperationsSQL, sorted(changes.Operations, compareOperations), operationColumns)
	write(t, "write leases", insertLeasesSQL, sorted(changes.Leases, compareLeases), leaseColumns)
	timers := slices.DeleteFunc(slices.Clone(changes.Timers), func(t coupon.Timer) bool { return t.Rearmed })
	write(t, "write timers", insertTimersSQL, sorted(timers, compareTimers), tx.timerColumns)
	write(t, "write redemptions", insertRedemptionsSQL, sorted(changes.Redemptions, compareRedemptions),
		redemptionColumns)
	orders, err := encodeOrders(changes.Orders)
	if err != nil {
		return err
	}
	write(t, "write orders", updateOrdersSQL, orders, orderColumns)
	newNamed, changedNamed := tx.changedNamed(changes.Orders)
	write(t, "name coupons", insertNamedSQL, newNamed, namedColumns)
	write(t, "change named coupons", updateNamedSQL, changedNamed, namedColumns)
	write(t, "write refunds", insertRefundsSQL, changes.Refunds, refundColumns)
	write(t, "write refund decisions", insertDecisionsSQL, changes.Decisions, decisionColumns)
	reviews, err := encodeReviews(changes.Reviews)
	if err != nil {
		return err
	}
	write(t, "open reviews", insertReviewsSQL, reviews, reviewColumns)
	write(t, "resolve reviews", resolveReviewsSQL, changes.Resolutions, resolutionColumns)
	if err := queueTemplates(t, changes); err != nil {
		return err
	}
	write(t, "write uses", updateUsesSQL, changes.Uses, usesColumns)
	write(t, "write claims", writeClaimsSQL, changes.Claims, claimsColumns)
	policies, err := encodePolicies(tx.world.NewPolicies())
	if err != nil {
		return err
	}
	write(t, "create policies", insertPoliciesSQL, policies, policyColumns)
	answers, err := encodeAnswers(changes.Answers)
	if err != nil {
		return err
	}
	// The answers go first: of two that ask for the same redemption at a till, the key
	// decides.
	write(t, "write answers", insertAnswersSQL, answers, answerColumns)
	write(t, "write the steps of redemptions", insertFlowsSQL, sorted(changes.Flows, compareFlows), flowColumns)
	audits, err := encodeAudits(changes.Audits)
	if err != nil {
		return err
	}
	write(t, "write the audit log", insertAuditsSQL, audits, auditColumns)
	write(t, "write the outbox", insertOutboxSQL, changes.Outbox, tx.outboxColumns)
	write(t, "write the inbox", insertReceiptsSQL, tx.receiptRows(changes.Receipts), receiptColumns)
	return nil
}

// write adds one set-wise statement, unless there are no rows for it.
func write[Row any](t *trip, purpose, sql string, rows []Row, columns func([]Row) []any) {
	if len(rows) > 0 {
		t.exec(purpose, sql, columns(rows)...)
	}
}

func sorted[Row any](rows []Row, compare func(a, b Row) int) []Row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, compare)
	return rows
}

func splitCoupons(changes []coupon.CouponChange) (created, changed []coupon.CouponChange) {
	for _, change := range changes {
		if change.Base == 0 {
			created = append(created, change)
		} else {
			changed = append(changed, change)
		}
	}
	return created, changed
}

// queueTemplates adds what templates say and count now.
func queueTemplates(t *trip, changes *coupon.Changes) error {
	created, changed, err := encodeTemplates(changes.Templates)
	if err != nil {
		return err
	}
	versions, err := encodeVersions(changes.Versions)
	if err != nil {
		return err
	}
	write(t, "create templates", insertTemplatesSQL, created, templateColumns)
	write(t, "write templates", updateTemplatesSQL, changed, templateUpdate)
	write(t, "keep the terms of templates", insertTemplateVersionsSQL, versions, versionColumns)
	return nil
}

// namedRow is one coupon of one order to write.
type namedRow struct {
	order string
	*coupon.Named
}

// changedNamed compares the coupons of the changed orders with what was read.
func (tx *transaction) changedNamed(orders []*coupon.Order) (created, changed []namedRow) {
	for _, o := range orders {
		for i := range o.Named {
			named := &o.Named[i]
			before, known := tx.named[orderCoupon{o.ID, named.Coupon}]
			if known && sameNamed(&before, named) {
				continue
			}
			row := namedRow{o.ID, named}
			if known {
				changed = append(changed, row)
			} else {
				created = append(created, row)
			}
		}
	}
	return created, changed
}

func sameNamed(a, b *coupon.Named) bool {
	return a.Refusal == b.Refusal && a.LeaseID == b.LeaseID && a.RedemptionID == b.RedemptionID &&
		a.QuoteID == b.QuoteID && a.Discount == b.Discount && a.PolicyVersion == b.PolicyVersion &&
		a.Dropped == b.Dropped && slices.Equal(a.Reviews, b.Reviews)
}

// orderRow is an order whose lists are encoded.
type orderRow struct {
	*coupon.Order
	children, reviews, payments, closes string
}

func encodeOrders(orders []*coupon.Order) (rows []orderRow, err error) {
	for _, o := range orders {
		row := orderRow{Order: o, children: arrayLiteral(o.Children), reviews: arrayLiteral(o.Reviews)}
		if row.payments, err = marshalFacts(o.Payments); err != nil {
			return nil, fmt.Errorf("payments of order %s: %w", o.ID, err)
		}
		if row.closes, err = marshalFacts(o.Closes); err != nil {
			return nil, fmt.Errorf("closes of order %s: %w", o.ID, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func marshalFacts[Fact any](facts []Fact) (string, error) {
	if len(facts) == 0 {
		return noFacts, nil
	}
	document, err := json.Marshal(facts)
	return string(document), err
}

// arrayLiteral writes a list as one text: rows of arrays cannot be sent as an array,
// because PostgreSQL has no arrays of unequal length within an array.
func arrayLiteral[T ~string](list []T) string {
	if len(list) == 0 {
		return "{}"
	}
	var b strings.Builder
	for i, element := range list {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteByte('"')
		_, _ = arrayEscapes.WriteString(&b, string(element)) // a Builder never fails
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

type policyRow struct {
	version  int64
	document string
}

func encodePolicies(policies []policy.Policy) (rows []policyRow, err error) {
	for _, p := range policies {
		document, err := json.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("policy %d: %w", p.Version, err)
		}
		rows = append(rows, policyRow{p.Version, string(document)})
	}
	return sorted(rows, func(a, b policyRow) int { return cmp.Compare(a.version, b.version) }), nil
}

// receiptRows leaves out messages too old, or too new, for the inbox.
func (tx *transaction) receiptRows(receipts []*coupon.Receipt) []*coupon.Receipt {
	kept := make([]*coupon.Receipt, 0, len(receipts))
	for _, r := range receipts {
		if tx.window.holds(r.At) {
			kept = append(kept, r)
		}
	}
	slices.SortFunc(kept, func(a, b *coupon.Receipt) int {
		return cmp.Or(dayOf(a.At).Compare(dayOf(b.At)), strings.Compare(a.ID, b.ID))
	})
	return kept
}
