package console

import (
	"errors"
	"fmt"
)

// ErrConflict says that what is there contradicts what was asked for. Nothing
// was changed; asking again gives the same answer.
var ErrConflict = errors.New("conflict")

// conflictError is a sentence of its own that matches ErrConflict.
type conflictError struct{ text string }

func (e *conflictError) Error() string        { return e.text }
func (e *conflictError) Is(target error) bool { return target == ErrConflict }

// ErrUsage says that the question itself cannot be answered, such as a file
// without the columns that it needs.
var ErrUsage = errors.New("wrong usage")

type usageError struct{ err error }

func (e *usageError) Error() string        { return e.err.Error() }
func (e *usageError) Unwrap() error        { return e.err }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// unset says which service is not known, and where its address comes from.
func unset(variable string) error {
	return &usageError{fmt.Errorf("%s is not set: name the service, or start the development services with "+
		"`make up` and take their addresses with `. .dev/env`", variable)}
}

// Usage marks an error as a question that cannot be answered.
func Usage(err error) error { return &usageError{err} }
