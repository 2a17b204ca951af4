package handlers

import (
	"time"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// command gives the one request of a command. Its hash leaves out the key and the
// time, so that a command asked again later is the same command.
func command(e messages.Envelope, head messages.CommandHead, fact coupon.Command) []coupon.Request {
	r := request(e, fact)
	r.Key, r.Hash, r.At = head.IdempotencyKey, e.ContentHash(), head.OccurredAt
	if e.ReplyTo != "" {
		r.Reply = &coupon.ReplyTo{Queue: e.ReplyTo, Correlation: e.CorrelationID}
	}
	return []coupon.Request{r}
}

// by names the person who gave a command, for the ledger.
func by(actor string, requests []coupon.Request) []coupon.Request {
	for i := range requests {
		requests[i].Actor = actor
	}
	return requests
}

// term is the asked length of a lease; 0 for the default and for no end.
func term(asked messages.LeaseTerm) time.Duration {
	seconds, _ := asked.Seconds()
	return time.Duration(seconds) * time.Second
}
