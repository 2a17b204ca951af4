package coupon

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"couponlease/internal/policy"
)

// Stacking says whether the coupons of one order are obtained together.
type Stacking string

const (
	StackAll     Stacking = "ALL"
	StackPartial Stacking = "PARTIAL"
)

// Rules are the settings that decisions depend on.
type Rules struct {
	// OrderLease is how long an order holds its coupons by default.
	OrderLease time.Duration
	Stacking   Stacking
	// QuoteLease is how long a buyer may decide, TillLease how long a till may work,
	// by default.
	QuoteLease, TillLease time.Duration
	// LongestLease bounds what a quote or a till may ask for.
	LongestLease time.Duration
	// RenewGrace is how long after the end of validity a renewed lease may last.
	RenewGrace time.Duration
	// FutureTolerance is how far ahead of the database clock a fact may claim
	// to have happened.
	FutureTolerance time.Duration
}

// DefaultRules are the rules of the acceptance cases.
func DefaultRules() Rules {
	return Rules{
		OrderLease: 15 * time.Minute, QuoteLease: 2 * time.Minute, TillLease: time.Minute,
		LongestLease: 24 * time.Hour, RenewGrace: time.Hour, Stacking: StackAll, FutureTolerance: 24 * time.Hour,
	}
}

// term is how long a lease of a purpose lasts by default.
func (r Rules) term(p Purpose) time.Duration {
	switch p {
	case PurposeQuote:
		return r.QuoteLease
	case PurposeTill:
		return r.TillLease
	default:
		return r.OrderLease
	}
}

// Source supplies what a pure core must not make itself.
type Source struct {
	// ID gives a fresh UUIDv7.
	ID func() string
	// Token gives the hash of the unguessable token of a lease. The secret is not
	// the core's business: whoever sends the answer finds it again by the lease. The
	// other arguments name the lease for sources whose tokens are to be told by it.
	Token func(lease, order, coupon string, generation int64) TokenHash
	// Code gives a fresh code for the n-th coupon issued from a template, folded, and
	// unguessable where codes are worth something.
	Code func(template string, n int64) string
	// Zone gives the time zone of an IANA name. Nil knows UTC alone.
	Zone func(name string) (*time.Location, error)
}

// usesKey names a counter per person.
type usesKey struct{ template, person string }

func (k usesKey) compare(l usesKey) int {
	return cmp.Or(cmp.Compare(k.template, l.template), cmp.Compare(k.person, l.person))
}

// batchKey names what one owner has from one batch.
type batchKey struct{ template, owner, batch string }

// World holds the rows that a transaction has locked and read, and collects
// what has to be written. A World serves one transaction and one goroutine.
type World struct {
	// Now is the database's time of the transaction.
	Now    time.Time
	Rules  Rules
	Source Source

	receipts  map[string]*Receipt
	answers   map[string]*Answer
	lasts     map[string]Last
	reviews   map[string]*Review
	flows     map[string]FlowRow
	orders    map[string]*Order
	coupons   map[string]*Coupon
	templates map[string]*Template
	policies  map[int64]policy.Policy
	uses      map[usesKey]*Uses
	claims    map[usesKey]*Claims
	inBatch   map[batchKey]string
	numbers   map[usesKey]*numbers
	aliases   map[string]string

	bases          map[string]int64
	dirtyCoupons   map[string]bool
	dirtyOrders    map[string]bool
	templateBases  map[string]*Template
	dirtyTemplates map[string]bool
	dirtyUses      map[usesKey]bool
	dirtyClaims    map[usesKey]bool
	newPolicies    []policy.Policy
	// miscounts are how far counters of templates are wrong, corrections what was set right
	// of that.
	miscounts   map[string]Miscount
	corrections []Correction
	changes     Changes

	request *Request
	// touches counts how often an order was changed.
	touches int
}

// NewWorld starts an empty world at the transaction's time.
func NewWorld(now time.Time, rules Rules, source Source) *World {
	return &World{
		Now: now.UTC(), Rules: rules, Source: source,
		receipts:       map[string]*Receipt{},
		answers:        map[string]*Answer{},
		lasts:          map[string]Last{},
		reviews:        map[string]*Review{},
		flows:          map[string]FlowRow{},
		orders:         map[string]*Order{},
		coupons:        map[string]*Coupon{},
		templates:      map[string]*Template{},
		policies:       map[int64]policy.Policy{},
		uses:           map[usesKey]*Uses{},
		claims:         map[usesKey]*Claims{},
		inBatch:        map[batchKey]string{},
		numbers:        map[usesKey]*numbers{},
		aliases:        map[string]string{},
		templateBases:  map[string]*Template{},
		dirtyClaims:    map[usesKey]bool{},
		bases:          map[string]int64{},
		dirtyCoupons:   map[string]bool{},
		dirtyOrders:    map[string]bool{},
		dirtyTemplates: map[string]bool{},
		dirtyUses:      map[usesKey]bool{},
		miscounts:      map[string]Miscount{},
	}
}

// AddReceipt, AddAnswer, AddReview, AddOrder, AddCoupon, AddTemplate, AddPolicy and AddUses hand
// over rows that were read under lock. The world owns them from then on. AddLast gives
// the latest ledger row of a coupon, which reversals need, AddFlow how a redemption at a till
// began that has not ended, which EndFlow needs.
func (w *World) AddReceipt(r *Receipt) { w.receipts[r.ID] = r }
func (w *World) AddAnswer(a *Answer)   { w.answers[a.Key] = a }
func (w *World) AddReview(r *Review)   { w.reviews[r.ID] = r }
func (w *World) AddLast(last Last)     { w.lasts[last.Operation.Coupon] = last }
func (w *World) AddFlow(f FlowRow)     { w.flows[f.RedeemNo] = f }
func (w *World) AddOrder(o *Order)     { w.orders[o.ID] = o }
func (w *World) AddCoupon(c *Coupon) {
	w.coupons[c.ID] = c
	w.bases[c.ID] = c.Version
}
func (w *World) AddTemplate(t *Template) {
	base := *t
	w.templates[t.ID], w.templateBases[t.ID] = t, &base
}
func (w *World) AddPolicy(p policy.Policy) { w.policies[p.Version] = p }
func (w *World) AddUses(u *Uses)           { w.uses[usesKey{u.Template, u.Person}] = u }

// AddClaims hands over how much a person has claimed, AddInBatch the coupon that an owner
// has from a batch, AddAlias who an alias stands for. AddNumbers gives the highest number
// of a person's claims without a batch, 0 for none, and how many claims there are; unless
// that number is above the counter, the counter is good for the latter.
func (w *World) AddClaims(c *Claims) { w.claims[usesKey{c.Template, c.Person}] = c }
func (w *World) AddInBatch(template, owner, batch, coupon string) {
	w.inBatch[batchKey{template, owner, batch}] = coupon
}
func (w *World) AddNumbers(template, person string, most, claims int64) {
	w.numbers[usesKey{template, person}] = &numbers{most, claims}
}
func (w *World) AddAlias(alias, person string) { w.aliases[alias] = person }

// Coupon and OrderRow give a row as it is now, nil if it was not handed over or
// made since; Changes and NewPolicies what has to be written so far.
func (w *World) Coupon(id string) *Coupon     { return w.coupons[id] }
func (w *World) OrderRow(id string) *Order    { return w.orders[id] }
func (w *World) Changes() *Changes            { return &w.changes }
func (w *World) NewPolicies() []policy.Policy { return w.newPolicies }

// MissingOrders lists, sorted, the linked orders that have not been read yet;
// the store locks those too, from the start, because all orders are locked in
// one ascending pass.
func (w *World) MissingOrders() []string {
	missing := map[string]bool{}
	for _, order := range w.orders {
		for _, id := range order.Links() {
			if w.orders[id] == nil {
				missing[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

// NamedCoupons lists, sorted, the coupons that the orders read so far have
// named.
func (w *World) NamedCoupons() []string {
	named := map[string]bool{}
	for _, order := range w.orders {
		for i := range order.Named {
			named[order.Named[i].Coupon] = true
		}
	}
	return slices.Sorted(maps.Keys(named))
}

// Seal fills the row part of the changes from the rows that were touched,
// sorted by key: one final row per coupon, however often it changed.
func (w *World) Seal() *Changes {
	for _, id := range slices.Sorted(maps.Keys(w.dirtyCoupons)) {
		w.changes.Coupons = append(w.changes.Coupons, CouponChange{Base: w.bases[id], Row: w.coupons[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(w.dirtyOrders)) {
		w.changes.Orders = append(w.changes.Orders, w.orders[id])
	}
	for _, id := range slices.Sorted(maps.Keys(w.dirtyTemplates)) {
		w.changes.Templates = append(w.changes.Templates,
			TemplateChange{Base: w.templateBases[id], Row: w.templates[id]})
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.dirtyUses), usesKey.compare) {
		w.changes.Uses = append(w.changes.Uses, w.uses[key])
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.dirtyClaims), usesKey.compare) {
		w.changes.Claims = append(w.changes.Claims, w.claims[key])
	}
	return &w.changes
}

// order returns the row of an order, empty if nothing is known yet.
func (w *World) order(id string) *Order {
	if o := w.orders[id]; o != nil {
		return o
	}
	o := &Order{ID: id}
	w.orders[id] = o
	return o
}

func (w *World) touchOrder(o *Order) {
	w.dirtyOrders[o.ID] = true
	w.touches++
}

func (w *World) usesOf(template, person string) *Uses {
	key := usesKey{template, person}
	if u := w.uses[key]; u != nil {
		return u
	}
	u := &Uses{Template: template, Person: person}
	w.uses[key] = u
	return u
}

func (w *World) policyOf(version int64) policy.Policy {
	if p, ok := w.policies[version]; ok {
		return p
	}
	return policy.Default()
}
