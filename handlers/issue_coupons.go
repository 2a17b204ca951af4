package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// IssueCoupons: an operator puts coupons into wallets.
func IssueCoupons(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeIssueCoupons(e)
	if err != nil {
		return nil, err
	}
	f := coupon.IssueCoupons{Template: m.TemplateID, Batch: m.BatchID}
	for _, item := range m.Coupons {
		f.Items = append(f.Items, coupon.IssueItem{
			Code: item.Code, Person: item.CustomerID, ValidFrom: item.ValidFrom, ValidUntil: item.ValidUntil,
		})
	}
	// The audit log says how many, and not for whom.
	given := struct {
		TemplateID string `json:"templateId"`
		BatchID    string `json:"batchId,omitempty"`
		Coupons    int    `json:"coupons"`
	}{m.TemplateID, m.BatchID, len(m.Coupons)}
	return by(m.Actor, "", given, command(e, m.CommandHead, f)), nil
}
