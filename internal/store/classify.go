package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"couponlease/internal/batcher"
)

// ErrTooManyOrders says that more orders are linked to each other than one
// transaction may lock. It is Poison.
var ErrTooManyOrders = errors.New("too many linked orders")

// ErrUnlocked says that a decision changed a row whose lock the transaction does not
// hold. It is Fatal.
var ErrUnlocked = errors.New("row to write was not locked")

var (
	// errAppeared says that a coupon was created while its template was being looked up,
	// or an order while the coupons were being locked.
	errAppeared = errors.New("a coupon or an order appeared meanwhile")
	// errLinksGrow says that the orders of a batch were linked to further orders faster
	// than they could be locked.
	errLinksGrow = errors.New("orders keep being linked to others")
	// errRolledBack says that the server had given the transaction up before.
	errRolledBack = errors.New("the transaction had been rolled back")
)

// SQLSTATEs that the schema's own functions raise.
const (
	stateBypassed   = "CL001"
	stateAppendOnly = "CL002"
)

// commitUnknownError marks an error after which nobody knows whether the transaction
// was committed.
type commitUnknownError struct{ err error }

func (e *commitUnknownError) Error() string {
	return fmt.Sprintf("outcome of the commit is unknown: %v", e.err)
}

func (e *commitUnknownError) Unwrap() error { return e.err }

// Classify says what an error of Apply, which is not nil, means for its batch.
//
// Transient: nothing was written and nothing is wrong with the requests. Ambiguous: the
// connection was lost while the commit was under way; the inbox tells what had been
// done. Poison: nothing was written, and one of the requests can never be. Fatal:
// something is wrong with the installation or with the program, such as rows that were
// changed around the engine; no request is to blame.
func Classify(err error) batcher.Class {
	var (
		unknown *commitUnknownError
		server  *pgconn.PgError
	)
	switch {
	case errors.As(err, &unknown):
		return batcher.Ambiguous
	case errors.Is(err, ErrTooManyToCount): // which the server has cut short
		return batcher.Poison
	case errors.As(err, &server):
		return classifyState(server)
	case errors.Is(err, ErrTooManyOrders):
		return batcher.Poison
	case errors.Is(err, ErrUnlocked):
		return batcher.Fatal
	case isConnectionError(err), errors.Is(err, errAppeared), errors.Is(err, errLinksGrow),
		errors.Is(err, errRolledBack):
		return batcher.Transient
	default:
		return batcher.Fatal
	}
}

// classifyState judges an error that the server reported.
func classifyState(err *pgconn.PgError) batcher.Class {
	if isMissingPartition(err) || isRace(err) {
		return batcher.Transient
	}
	switch err.Code {
	case stateBypassed, stateAppendOnly:
		return batcher.Fatal
	case "25006", // read-only: a standby, before or after a failover
		"25P03", // idle in transaction for too long
		"26000", // a pooler has no such prepared statement on this connection
		"42P05", // a pooler has it already
		"0A000": // the result type of a cached plan changed: a migration ran
		return batcher.Transient
	}
	switch err.Code[:min(2, len(err.Code))] {
	case "08", // connection
		"28", "3D", // not allowed in, or no such database: neither is a message's fault
		"40", // serialization failure, deadlock
		"53", // out of memory, disk or connections
		"55", // lock not available
		"57", // cancelled, shut down, starting up
		"58": // input or output error of the server
		return batcher.Transient
	case "22", "23", "54": // bad data, constraint, too large
		return batcher.Poison
	default:
		return batcher.Fatal
	}
}

// isMissingPartition says that a row fits no partition yet.
func isMissingPartition(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "23514" &&
		strings.HasPrefix(server.Message, "no partition of relation")
}

// isRace says that another transaction created a row that had not been there when this
// one looked. The next attempt finds it.
func isRace(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.Code != "23505" {
		return false
	}
	switch server.ConstraintName {
	case "user_coupon_pkey", "coupon_template_pkey", "return_policy_pkey", "coupon_command_pkey":
		return true
	default:
		return strings.HasPrefix(server.TableName, inboxTable+"_")
	}
}

func isConnectionError(err error) bool {
	var (
		connect *pgconn.ConnectError
		network net.Error
	)
	return errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, errClosed) || pgconn.Timeout(err) ||
		pgconn.SafeToRetry(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// commitOutcome judges an error of the trip that ends with COMMIT. An error that the
// server reported about a statement means that nothing was committed. One about the
// connection, or a shutdown that may have hit after the commit, leaves it open.
func commitOutcome(err error) error {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch {
		case strings.HasPrefix(server.Code, "08"), strings.HasPrefix(server.Code, "57P"),
			strings.HasPrefix(server.Code, "25P"):
			return &commitUnknownError{err}
		}
		return err
	}
	if pgconn.SafeToRetry(err) || !isConnectionError(err) {
		return err
	}
	return &commitUnknownError{err}
}
