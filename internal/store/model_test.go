package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// model keeps what transactions left to write, in maps: what the store has to give back.
type model struct {
	histories map[string]*coupon.History
	orders    map[string]*coupon.Order
	templates map[string]*coupon.Template
	uses      map[usesKey]coupon.Uses
	claims    map[usesKey]coupon.Claims
	versions  []coupon.TemplateVersion
	receipts  map[string]*coupon.Receipt
	answers   map[string]*coupon.Answer
	flows     []coupon.FlowRow
	timers    []coupon.Timer
	refunds   []coupon.RefundRow
	reviews   []Review
	outbox    []coupon.OutboxRow
	policies  []policy.Policy
}

func newModel() *model {
	return &model{
		histories: map[string]*coupon.History{},
		orders:    map[string]*coupon.Order{},
		templates: map[string]*coupon.Template{},
		uses:      map[usesKey]coupon.Uses{},
		claims:    map[usesKey]coupon.Claims{},
		receipts:  map[string]*coupon.Receipt{},
		answers:   map[string]*coupon.Answer{},
		policies:  []policy.Policy{policy.Default()},
	}
}

// keep takes over what a sealed world has to write.
func (m *model) keep(w *coupon.World) {
	changes := w.Changes()
	for _, change := range changes.Coupons {
		m.history(change.Row.ID).Coupon = change.Row.Clone()
	}
	for _, row := range changes.Operations {
		h := m.history(row.Coupon)
		h.Operations = append(h.Operations, *row)
	}
	for _, row := range changes.Leases {
		h := m.history(row.Coupon)
		h.Leases = append(h.Leases, *row)
	}
	for _, row := range changes.Redemptions {
		h := m.history(row.Coupon)
		h.Redemptions = append(h.Redemptions, row)
	}
	for _, row := range changes.Decisions {
		h := m.history(row.Coupon)
		h.Decisions = append(h.Decisions, *row)
	}
	for _, row := range changes.Orders {
		m.orders[row.ID] = row.Clone()
	}
	for _, row := range changes.Templates {
		kept := *row.Row
		m.templates[kept.ID] = &kept
	}
	for _, row := range changes.Versions {
		m.versions = append(m.versions, *row)
	}
	for _, row := range changes.Claims {
		m.claims[usesKey{row.Template, row.Person}] = *row
	}
	for _, row := range changes.Uses {
		m.uses[usesKey{row.Template, row.Person}] = *row
	}
	for _, row := range changes.Receipts {
		m.receipts[row.ID] = row
	}
	for _, row := range changes.Answers {
		m.answers[row.Key] = row
	}
	m.flows = append(m.flows, changes.Flows...)
	for _, row := range changes.Timers {
		if !row.Rearmed {
			m.timers = append(m.timers, row)
		}
	}
	m.refunds = append(m.refunds, changes.Refunds...)
	for _, row := range changes.Reviews {
		m.reviews = append(m.reviews, Review{ReviewRow: *row})
	}
	for _, row := range changes.Resolutions {
		i := slices.IndexFunc(m.reviews, func(r Review) bool { return r.ID == row.Review })
		r := &m.reviews[i]
		r.ResolvedAt, r.Resolution, r.ResolvedBy, r.Note = row.At, string(row.Outcome), row.Actor, row.Note
	}
	m.outbox = append(m.outbox, changes.Outbox...)
	m.policies = append(m.policies, w.NewPolicies()...)
}

func (m *model) history(id string) *coupon.History {
	if m.histories[id] == nil {
		m.histories[id] = &coupon.History{}
	}
	return m.histories[id]
}

// dump gives everything in the order in which the store gives it.
func (m *model) dump() *Dump {
	d := &Dump{
		Timers: sorted(m.timers, compareTimers),
		Refunds: sorted(m.refunds, func(a, b coupon.RefundRow) int {
			return cmp.Or(strings.Compare(a.Order, b.Order), strings.Compare(a.ID, b.ID))
		}),
		Reviews: sorted(m.reviews, func(a, b Review) int { return strings.Compare(a.ID, b.ID) }),
		Flows:   sorted(m.flows, compareFlows),
		Outbox:  m.outbox,
		Policies: sorted(m.policies, func(a, b policy.Policy) int {
			return cmp.Compare(a.Version, b.Version)
		}),
	}
	for i := range d.Timers {
		d.Timers[i].Due = d.Timers[i].Due.UTC()
	}
	for i := range d.Refunds {
		d.Refunds[i].Decided = nil // known from the decisions
	}
	for _, id := range slices.Sorted(maps.Keys(m.histories)) {
		d.Histories = append(d.Histories, *m.histories[id])
	}
	for _, id := range slices.Sorted(maps.Keys(m.orders)) {
		d.Orders = append(d.Orders, m.orders[id])
	}
	for _, id := range slices.Sorted(maps.Keys(m.templates)) {
		d.Templates = append(d.Templates, m.templates[id])
	}
	for _, u := range slices.SortedFunc(maps.Values(m.uses), func(a, b coupon.Uses) int {
		return cmp.Or(strings.Compare(a.Template, b.Template), strings.Compare(a.Person, b.Person))
	}) {
		if u.Held != 0 {
			d.Uses = append(d.Uses, u)
		}
	}
	for _, c := range slices.SortedFunc(maps.Values(m.claims), func(a, b coupon.Claims) int {
		return cmp.Or(strings.Compare(a.Template, b.Template), strings.Compare(a.Person, b.Person))
	}) {
		d.Claims = append(d.Claims, c)
	}
	d.Versions = sorted(m.versions, func(a, b coupon.TemplateVersion) int {
		return cmp.Or(strings.Compare(a.Template, b.Template), cmp.Compare(a.Version, b.Version))
	})
	for _, id := range slices.Sorted(maps.Keys(m.receipts)) {
		d.Receipts = append(d.Receipts, m.receipts[id])
	}
	for _, key := range slices.Sorted(maps.Keys(m.answers)) {
		d.Answers = append(d.Answers, m.answers[key])
	}
	return d
}

// countingSource draws ids and tokens that can be drawn again.
type countingSource struct{ next int64 }

func (s *countingSource) source() coupon.Source {
	return coupon.Source{
		ID: func() string {
			s.next++
			return fmt.Sprintf("00000000-0000-7000-8000-%012x", s.next)
		},
		Token: func(_, order, couponID string, generation int64) coupon.TokenHash {
			return coupon.HashToken(fmt.Sprintf("%s/%s/%d", order, couponID, generation))
		},
		Code: func(template string, n int64) string { return coupon.Fold(fmt.Sprintf("%s-%d", template, n)) },
		Zone: time.LoadLocation,
	}
}
