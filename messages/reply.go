package messages

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// CommandReply answers a command that named a reply-to queue. A repeated command
// gets the first answer again. LeaseToken is a secret between the product and the
// asker: a queue that answers go to belongs to one asker alone.
type CommandReply struct {
	Change
	// Command is the type of the command that is answered.
	Command string `json:"command"`
	// IdempotencyKey is the command's; of a RedeemRequested, its redeem number.
	IdempotencyKey string `json:"idempotencyKey"`
	// Outcome is OK, DUPLICATE, EXISTING_REDEMPTION, the decision on a ReturnCoupon,
	// such as RETURN:FULL or KEEP:PARTIAL, what an IssueCoupons did, such as
	// ISSUED:200,SKIPPED:3, or a refusal code, such as ALREADY_LOCKED or
	// ILLEGAL_STATE:USED.
	Outcome string `json:"outcome"`
	// PublicCode is what buyers may see of a refusal; absent when there is none.
	PublicCode string `json:"publicCode,omitempty"`
	// Refusals has one entry for each coupon that a swap could not obtain.
	Refusals []Rejection `json:"refusals,omitempty"`
	// State is what the coupon is now; absent when no coupon is concerned.
	State string `json:"state,omitempty"`
	// Deadline is when the lease may be released; absent without a deadline.
	Deadline time.Time `json:"deadline,omitzero"`
	// RedeemNo is the redeem number that a RedeemRequested runs under: the order
	// that the confirming RedeemCoupon names. Absent for other commands.
	RedeemNo string `json:"redeemNo,omitempty"`
	// LeaseToken proves who owns the lease. Only the answers to LockCoupon and
	// RedeemRequested have it, when they leased the coupon.
	LeaseToken Token `json:"leaseToken,omitempty"`
}

// Outcomes of a command that are no refusals.
const (
	// OutcomeOK: done.
	OutcomeOK = "OK"
	// OutcomeDuplicate: done before.
	OutcomeDuplicate = "DUPLICATE"
	// OutcomeExistingRedemption: the order has used the coupon already, under
	// another key.
	OutcomeExistingRedemption = "EXISTING_REDEMPTION"
)

// Accepted reports whether what the command asked for is so now: it was done, or
// had been done before, or the return policy was asked and decided. Every other
// outcome is a refusal, which changed nothing.
func (r CommandReply) Accepted() bool {
	switch r.Outcome {
	case OutcomeOK, OutcomeDuplicate, OutcomeExistingRedemption:
		return true
	default:
		decision, _, decided := strings.Cut(r.Outcome, ":")
		return decided && (decision == "RETURN" || decision == "RETIRE" || decision == "KEEP" || decision == "ISSUED")
	}
}

// Err gives a refusal as a *Refused, and nil when the command was accepted.
func (r CommandReply) Err() error {
	if r.Accepted() {
		return nil
	}
	return &Refused{Command: r.Command, CouponID: r.CouponID, Outcome: r.Outcome, PublicCode: r.PublicCode}
}

// Refused is a command's refusal as an error. Nothing was changed.
type Refused struct {
	// Command is the type of the command.
	Command string
	// CouponID names the coupon; empty when it is about several.
	CouponID string
	// Outcome is the exact refusal, for services. It must not reach buyers.
	Outcome string
	// PublicCode is what buyers may see.
	PublicCode string
}

// Error is for the logs of services, not for buyers.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s refused: %s", r.Command, r.Outcome)
}

// WithLeaseToken puts the token into the body of an encoded CommandReply that was
// stored without it. The body must be a JSON object that has no leaseToken. It
// gives the bytes that Encode gives for a reply with the token.
func WithLeaseToken(body []byte, token Token) ([]byte, error) {
	doc, fault := parseDocument(body)
	switch {
	case fault != nil:
		return nil, fmt.Errorf("put the lease token into a reply: %w", fault)
	case doc.nodes[0].kind != '{':
		return nil, errors.New("put the lease token into a reply: the body is no object")
	case doc.member(0, "leaseToken") != 0:
		return nil, errors.New("put the lease token into a reply: it has one already")
	case !validText(string(token), MaxID):
		return nil, errors.New("put the lease token into a reply: the token is empty, too long, or no plain text")
	}
	closing := int(doc.nodes[0].end) - 1
	out := make([]byte, 0, len(body)+len(token)+len(`,"leaseToken":""`))
	out = append(out, body[:closing]...)
	if doc.nodes[0].first != 0 {
		out = append(out, ',')
	}
	out = append(out, `"leaseToken":`...)
	out = appendString(out, string(token))
	out = append(out, body[closing:]...)
	if len(out) > MaxBody {
		return nil, fmt.Errorf("put the lease token into a reply: %d bytes are more than %d", len(out), MaxBody)
	}
	return out, nil
}
