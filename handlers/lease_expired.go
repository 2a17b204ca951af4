package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// LeaseExpired: these leases may be due; each is a request of its own.
func LeaseExpired(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeLeaseExpired(e)
	if err != nil {
		return nil, err
	}
	requests := make([]coupon.Request, 0, len(m.Leases))
	for _, lease := range m.Leases {
		timer := coupon.Timer{
			Coupon: lease.CouponID, Order: lease.OrderID, LeaseID: lease.LeaseID,
			Version: lease.Version, Due: lease.Deadline,
		}
		// The decoder has checked that this is the hexadecimal form of a hash.
		if _, err := hex.Decode(timer.TokenHash[:], []byte(lease.TokenHash)); err != nil {
			return nil, fmt.Errorf("token hash of lease %s: %w", lease.LeaseID, err)
		}
		r := DueRequest(timer)
		r.Trace = e.TraceParent
		requests = append(requests, r)
	}
	return requests, nil
}

// DueRequest asks whether a lease is due. The broker's timer and the sweeper ask
// under the same id, so that the second of them finds the first one's answer.
func DueRequest(timer coupon.Timer) coupon.Request {
	id := fmt.Sprintf("lease-due/%s/%d", timer.LeaseID, timer.Version)
	return coupon.Request{
		ID: id, Hash: sha256.Sum256([]byte(id)), At: timer.Due, Actor: "timer",
		Fact: coupon.LeaseDue{
			Coupon: timer.Coupon, Order: timer.Order, LeaseID: timer.LeaseID,
			TokenHash: timer.TokenHash, Version: timer.Version,
		},
	}
}
