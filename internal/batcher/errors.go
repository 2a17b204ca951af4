package batcher

import (
	"errors"
	"fmt"
)

// ErrClosed is the answer for an item that was not accepted, or not finished,
// because the batcher was closed. An item that was accepted may still have been
// run: its outcome is unknown.
var ErrClosed = errors.New("batcher closed")

// Error is the answer for an item whose batch failed for good.
type Error struct {
	// Class is Poison when this item alone is at fault and Fatal when the whole
	// batch was given up.
	Class Class
	// Size is the number of items in the failed run.
	Size int
	// Err is what run returned, a *PanicError, or a *LengthError.
	Err error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s batch of %d: %v", e.Class, e.Size, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// PanicError is a panic of run, caught.
type PanicError struct {
	Value any
	// Stack is the stack of the panicking goroutine, at most 16 KiB of it.
	Stack []byte
}

// Error includes the stack, because nobody else has it.
func (e *PanicError) Error() string {
	return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// LengthError says that run broke its contract: it succeeded without returning
// one answer per item. What was done is done, and nobody can tell whose answer is
// whose.
type LengthError struct {
	Items, Answers int
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("%d answers for %d items", e.Answers, e.Items)
}
