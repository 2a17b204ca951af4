package coupon

import (
	"crypto/sha256"
	"time"
)

// Answer is what a command was answered, kept as long as its coupon. It is the
// evidence of a refusal, and what a repeated command is told again.
type Answer struct {
	// Key is the command's idempotency key, Hash the SHA-256 of its content.
	Key  string
	Hash [sha256.Size]byte
	Kind string
	// Coupon and Order are those that the command named.
	Coupon, Order string
	Status        Status
	Code          Code
	// State, Version, LeaseID, Deadline and Operation are what the command left;
	// empty when it was refused.
	State     State
	Version   int64
	LeaseID   string
	Deadline  time.Time
	Operation string
	// Token is the hash of the lease's token when the answer is to give that token
	// to the asker; nil otherwise.
	Token *TokenHash
	// Refusals say why a swap was refused.
	Refusals []Refusal
	// Cause is the id of the message, Actor who sent it, At its own time.
	Cause, Actor string
	At           time.Time
	// Done is the database time of the answer.
	Done time.Time
}

// refuse notes why nothing changes.
func (a *Answer) refuse(code Code) { a.Status, a.Code = Refused, code }

// same notes that what is asked is so already.
func (a *Answer) same(code Code, c *Coupon) {
	a.Status, a.Code = Unchanged, code
	a.stands(c)
}

// done notes what a command did.
func (a *Answer) done(c *Coupon, op *OperationRow) {
	a.Status, a.Code = Applied, OK
	a.stands(c)
	a.Operation = op.ID
	if a.LeaseID == "" {
		a.LeaseID = op.LeaseID
	}
}

// stands notes how the coupon stands.
func (a *Answer) stands(c *Coupon) {
	a.State, a.Version = c.State, c.Version
	if c.Lease != nil {
		a.LeaseID, a.Deadline = c.Lease.ID, c.Lease.Deadline
	}
}

// give hands the token of the coupon's lease to the asker.
func (a *Answer) give(c *Coupon) {
	hash := c.Lease.TokenHash
	a.Token = &hash
}

// ReplyTo says where the answer to a command goes.
type ReplyTo struct{ Queue, Correlation string }

// Reply is an answer to send.
type Reply struct {
	// ID is the id of the outgoing message.
	ID     string
	To     ReplyTo
	Answer *Answer
	Trace  string
	// At is when it is sent; a repeated answer is older than its reply.
	At time.Time
}

// FlowStep is one step of a redemption at a till.
type FlowStep string

const (
	// FlowProcessing: the coupon is held, the shop does its own work.
	FlowProcessing FlowStep = "PROCESSING"
	// FlowSuccess: the till confirmed.
	FlowSuccess FlowStep = "SUCCESS"
	// FlowRejected: the coupon could not be had.
	FlowRejected FlowStep = "REJECTED"
	// FlowReleased: the till gave up, went silent, or the coupon was withdrawn.
	FlowReleased FlowStep = "RELEASED"
)

// Ends says whether the step is the last of its flow. A flow begins once and ends
// once.
func (s FlowStep) Ends() bool { return s != FlowProcessing }

// FlowRow is the evidence of one step.
type FlowRow struct {
	// RedeemNo is the redeem number, Request the till's request id in it.
	RedeemNo, Request string
	Step              FlowStep
	Coupon            string
	LeaseID           string
	Operation         string
	// Code is why the coupon could not be had, Reason why it was released, Payment
	// what the till confirmed with.
	Code    Code
	Reason  string
	Payment string
	Cause   string
	At      time.Time
}

// Last is the latest ledger row of a coupon, with the redemption that it names, if
// any. It is what a withdrawal is taken back by.
type Last struct {
	Operation  OperationRow
	Redemption *Redemption
}
