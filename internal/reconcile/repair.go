package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
)

// Repair asks the engine for what findings can be repaired by. Nothing is changed but by
// the engine, which decides again from what is known then.
type Repair struct {
	Engine Engine
	// Reason is why, for the audit log.
	Reason string
	// Rate is the most requests in a second.
	Rate int
	// Patience is how long a payment may wait for its order.
	Patience time.Duration
}

// repairFailed is what stands for the answer to a request that got none.
const repairFailed = "FAILED"

// repairChunk is how many requests are submitted together.
const repairChunk = 100

// command is what a finding can be repaired by; nil when a person has to see to it.
func (p *Repair) command(f *Record) coupon.Command {
	switch f.Fault {
	case coupon.FaultPaidNotRedeemed, coupon.FaultClosedStillLocked, coupon.FaultGivenUpStillHeld,
		coupon.FaultReviewNotOpened:
		return coupon.SettleOrder{Order: f.Order}
	case coupon.FaultOrphanLease:
		return coupon.SettleLease{Coupon: f.Coupon, Order: f.Order}
	case coupon.FaultStaleFlow:
		return coupon.EndFlow{Coupon: f.Coupon, RedeemNo: f.Subject}
	case coupon.FaultDrift:
		return coupon.RecountTemplate{Template: f.Template}
	case coupon.FaultOrphanPayment:
		return coupon.ReportOrphan{Order: f.Order, Patience: p.Patience}
	case coupon.FaultDoubleUse, coupon.FaultUsedWithoutRedemption, coupon.FaultDiscountWithoutRedemption:
		return p.report(f)
	default:
		return nil
	}
}

// report has a person asked; without an order nobody knows whom it is about.
func (p *Repair) report(f *Record) coupon.Command {
	if f.Order == "" {
		return nil
	}
	return coupon.ReportFault{Fault: f.Fault, Order: f.Order, Coupon: f.Coupon}
}

// run goes through what a run has found.
func (p *Repair) run(ctx context.Context, books Books, stocks Stocks, s *Summary) (repaired int64, err error) {
	for after := ""; ; {
		page, err := books.Findings(ctx, FindingFilter{Run: s.ID, OpenOnly: true, After: after, Limit: repairChunk})
		if err != nil || len(page) == 0 {
			return repaired, err
		}
		after = page[len(page)-1].ID
		began := time.Now()
		restocked, err := restock(ctx, books, stocks, s, page)
		repaired += restocked
		if err != nil {
			return repaired, err
		}
		done, asked, err := p.page(ctx, books, s, page)
		repaired += done
		if err != nil {
			return repaired, err
		}
		pause(ctx, time.Duration(asked)*time.Second/time.Duration(max(1, p.Rate))-time.Since(began))
	}
}

func (p *Repair) page(ctx context.Context, books Books, s *Summary, page []Record) (repaired int64, asked int, err error) {
	now, err := books.Now(ctx)
	if err != nil {
		return 0, 0, err
	}
	var requests []coupon.Request
	var about []string
	for i := range page {
		command := p.command(&page[i])
		if command == nil {
			continue
		}
		arguments, err := json.Marshal(command)
		if err != nil {
			return 0, 0, fmt.Errorf("write a repair down: %w", err)
		}
		key := "reconcile/" + s.ID + "/" + page[i].ID
		requests = append(requests, coupon.Request{
			ID: key, Key: key, Hash: sha256.Sum256(arguments), At: now, Actor: s.Actor, Fact: command,
			Audit: &coupon.Audit{Reason: p.Reason, Arguments: arguments},
		})
		about = append(about, page[i].ID)
	}
	if len(requests) == 0 {
		return 0, 0, nil
	}
	outcomes, errs := p.submit(ctx, requests)
	for i := range requests {
		var atFault *batcher.Error
		answer, note := string(outcomes[i].Code), string(outcomes[i].Code)
		switch {
		case errors.As(errs[i], &atFault): // the others are not
			why, _, _ := strings.Cut(atFault.Error(), "\n") // of a panic not where it was
			answer, note = repairFailed, repairFailed+": "+why
		case errs[i] != nil:
			return repaired, len(requests), fmt.Errorf("repair finding %s: %w", about[i], errs[i])
		case outcomes[i].Status == coupon.Applied:
			repaired++
		}
		s.Repairs[answer]++
		if err := books.NoteRepair(ctx, about[i], note); err != nil {
			return repaired, len(requests), err
		}
	}
	return repaired, len(requests), nil
}

// submit asks for repairs together, but for those that count coupons again: each of them
// would keep the others waiting, and one that takes too long would be tried with ever fewer
// of them.
func (p *Repair) submit(ctx context.Context, requests []coupon.Request) (outcomes []coupon.Outcome, errs []error) {
	outcomes, errs = make([]coupon.Outcome, len(requests)), make([]error, len(requests))
	var together []coupon.Request
	var at []int
	for i := range requests {
		if _, counts := requests[i].Fact.(coupon.RecountTemplate); !counts {
			together, at = append(together, requests[i]), append(at, i)
		}
	}
	answers, failed := p.Engine.SubmitAll(ctx, together)
	for i, place := range at {
		outcomes[place], errs[place] = answers[i], failed[i]
	}
	for i := range requests {
		if _, counts := requests[i].Fact.(coupon.RecountTemplate); counts {
			answers, failed = p.Engine.SubmitAll(ctx, requests[i:i+1])
			outcomes[i], errs[i] = answers[0], failed[0]
		}
	}
	return outcomes, errs
}
