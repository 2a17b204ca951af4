package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"couponlease/internal/coupon"
)

// What another system may say about an order, as evidence of a case.
const (
	evidencePaid   = "PAID"
	evidenceClosed = "CLOSED"
)

// reconcile judges all that the run knows of, gives what it finds, and asks for a case
// about each payment without an order.
func (r *run) reconcile(ctx context.Context, step *Step, index int) (string, error) {
	findings, err := r.findings(ctx)
	if err != nil {
		return "", err
	}
	told, err := r.compare(ctx, step.OrderEvidence)
	if err != nil {
		return "", err
	}
	findings = append(findings, told...)
	drifts, err := r.drifts(ctx)
	if err != nil {
		return "", err
	}
	findings = append(findings, drifts...)
	if len(findings) == 0 {
		return "REPORT:CLEAN", nil
	}
	var report []string
	for _, f := range findings {
		report = append(report, string(f.Fault)+":"+strings.ReplaceAll(f.Subject, r.space, ""))
		if f.Fault != coupon.FaultOrphanPayment {
			continue
		}
		request := r.request(step, index, coupon.ReportOrphan{
			Order: f.Order, Patience: coupon.DefaultPatience().Payment,
		})
		request.Key = r.name(fmt.Sprintf("step-%d-%s", index, f.Subject))
		if _, err := r.apply(ctx, request); err != nil {
			return "", err
		}
	}
	return "REPORT:" + strings.Join(report, ";"), nil
}

// findings is what the books of this run give.
func (r *run) findings(ctx context.Context) ([]coupon.Finding, error) {
	moment := coupon.Moment{Now: r.now, Patience: coupon.DefaultPatience()}
	orders := map[string]*coupon.Order{}
	claims := map[string][]coupon.Claim{}
	for _, id := range r.orders {
		row, err := r.backend.Order(ctx, id)
		if err != nil {
			return nil, err
		}
		orders[id] = row
		for i := range row.Named {
			claim := coupon.Claim{Order: id, RedemptionID: row.Named[i].RedemptionID}
			claims[row.Named[i].Coupon] = append(claims[row.Named[i].Coupon], claim)
		}
	}
	var findings []coupon.Finding
	histories := map[string]coupon.History{}
	for _, id := range r.coupons {
		history, found, err := r.backend.History(ctx, id)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("coupon %s is gone", id)
		}
		histories[id] = history
		// Every lease of a run has its timer: the steps are what fires it.
		books := coupon.Books{History: history, Claims: claims[id], Armed: true}
		findings = append(findings, coupon.JudgeCoupon(books, moment)...)
	}
	for _, id := range r.orders {
		findings = append(findings, coupon.JudgeOrder(coupon.OrderBooks{
			Order:   orders[id],
			Coupon:  func(id string) *coupon.Coupon { return histories[id].Coupon },
			Related: func(id string) *coupon.Order { return orders[id] },
			Ended:   func(id, redemption string) bool { return histories[id].Ended(redemption) },
		}, moment)...)
	}
	return findings, nil
}

// compare holds what a case says of orders elsewhere against what is known here.
func (r *run) compare(ctx context.Context, evidence json.RawMessage) ([]coupon.Finding, error) {
	if len(evidence) == 0 || string(evidence) == "null" {
		return nil, nil
	}
	var told map[string]string
	if json.Unmarshal(evidence, &told) != nil {
		return nil, unsupportedError{"orderEvidence " + string(evidence)}
	}
	var findings []coupon.Finding
	for _, name := range sortedKeys(told) {
		order, err := r.backend.Order(ctx, r.name(name))
		if err != nil {
			return nil, err
		}
		found := coupon.Finding{Subject: r.name(name), Order: r.name(name)}
		switch told[name] {
		case evidencePaid:
			if len(order.Payments) > 0 {
				continue
			}
			found.Fault = coupon.FaultPaidUnknown
		case evidenceClosed:
			if len(order.Closes) > 0 {
				continue
			}
			found.Fault = coupon.FaultClosedUpstream
		default:
			return nil, unsupportedError{"orderEvidence " + told[name]}
		}
		findings = append(findings, found)
	}
	return findings, nil
}

// assertReportHas: some report has each of the texts.
func assertReportHas(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted []string
	if err := json.Unmarshal(want, &wanted); err != nil {
		wanted = make([]string, 1)
		if err := json.Unmarshal(want, &wanted[0]); err != nil {
			return "", err
		}
	}
	var reports []string
	for _, result := range r.results {
		if strings.HasPrefix(result, "REPORT:") {
			reports = append(reports, result)
		}
	}
	for _, text := range wanted {
		if !strings.Contains(strings.Join(reports, "\n"), text) {
			return fmt.Sprintf("expected %s in a report, got %v", text, reports), nil
		}
	}
	return "", nil
}
