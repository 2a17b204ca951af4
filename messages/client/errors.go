package client

import (
	"errors"
	"fmt"
)

// What an Error may wrap, besides context.DeadlineExceeded, context.Canceled and
// a *messages.Malformed for a message that breaks its contract.
var (
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("the client is closed")
	// ErrUnroutable: no queue takes the message. The product's topology is not on
	// this broker and virtual host.
	ErrUnroutable = errors.New("no queue takes the message")
	// ErrRefused: the broker lets this user not write there, or the exchange does
	// not exist.
	ErrRefused = errors.New("the broker refuses the message")
)

// errAgain marks what another attempt may mend.
var errAgain = errors.New("not settled")

// errOwed ends a session.
var errOwed = errors.New("the broker does not confirm what it gets")

// An Error says that a call brought no answer.
type Error struct {
	// Type is the full type of the message.
	Type string
	// Key is what to call again with, for the same thing to be done at most once:
	// the message id of a fact, the idempotency key of a command, or the request
	// id of a till. It is the caller's own, or the one the client drew.
	Key string
	// Sent says that the message may have reached the broker, so that it is not
	// known whether it was or will be carried out. Otherwise it certainly was not.
	Sent bool
	// Err is why.
	Err error
}

// Error never holds content of the message.
func (e *Error) Error() string {
	known := "not sent"
	if e.Sent {
		known = "sent, but no answer"
	}
	return fmt.Sprintf("%s %s: %s: %v", e.Type, e.Key, known, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
