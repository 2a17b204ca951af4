package handlers

import (
	"encoding/json"
	"fmt"
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

// by names the person who gave a command, for ledger and audit log. The arguments are
// the decoded command m.
func by(actor, reason string, m any, requests []coupon.Request) []coupon.Request {
	arguments, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Errorf("encode %T: %w", m, err)) // it has only texts, numbers, truths and no time
	}
	for i := range requests {
		requests[i].Actor = actor
		requests[i].Audit = &coupon.Audit{Reason: reason, Arguments: arguments}
	}
	return requests
}

// term is the asked length of a lease; 0 for the default and for no end.
func term(asked messages.LeaseTerm) time.Duration {
	seconds, _ := asked.Seconds()
	return time.Duration(seconds) * time.Second
}
