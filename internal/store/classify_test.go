package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

type classifyCase struct {
	name string
	err  error
	want Class
}

func TestClassify(t *testing.T) {
	for _, test := range slices.Concat(serverErrors, otherErrors, commitErrors) {
		t.Run(test.name, func(t *testing.T) {
			if got := Classify(test.err); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if test.err == nil {
				return
			}
			if got := Classify(fmt.Errorf("apply: %w", test.err)); got != test.want {
				t.Errorf("wrapped: got %s, want %s", got, test.want)
			}
		})
	}
}

var serverErrors = []classifyCase{
	{"nothing", nil, 0},
	{"serialization failure", state("40001"), Transient},
	{"deadlock", state("40P01"), Transient},
	{"lock timeout", state("55P03"), Transient},
	{"statement timeout", state("57014"), Transient},
	{"administrator's shutdown", state("57P01"), Transient},
	{"crash shutdown", state("57P02"), Transient},
	{"starting up", state("57P03"), Transient},
	{"connection failure", state("08006"), Transient},
	{"disk full", state("53100"), Transient},
	{"out of memory", state("53200"), Transient},
	{"too many connections", state("53300"), Transient},
	{"input or output error", state("58030"), Transient},
	{"standby", state("25006"), Transient},
	{"idle in transaction", state("25P03"), Transient},
	{"password refused", state("28P01"), Transient},
	{"no such database", state("3D000"), Transient},
	{"cached plan after a migration", state("0A000"), Transient},
	{"statement lost by a pooler", state("26000"), Transient},
	{"statement known by a pooler", state("42P05"), Transient},
	{"missing partition", &pgconn.PgError{
		Code: "23514", Message: `no partition of relation "inbox" found for row`}, Transient},
	{"check constraint", &pgconn.PgError{
		Code: "23514", Message: `new row for relation "coupon_template" violates check constraint`}, Poison},
	{"same message at the same time", &pgconn.PgError{
		Code: "23505", TableName: "inbox_20260102", ConstraintName: "inbox_20260102_pkey"}, Transient},
	{"same coupon at the same time", &pgconn.PgError{
		Code: "23505", TableName: "user_coupon", ConstraintName: "user_coupon_pkey"}, Transient},
	{"same version twice", &pgconn.PgError{
		Code: "23505", TableName: "coupon_operation", ConstraintName: "coupon_operation_pkey"}, Poison},
	{"not null", state("23502"), Poison},
	{"bad text", state("22021"), Poison},
	{"number out of range", state("22003"), Poison},
	{"key too long", state("54000"), Poison},
	{"rows changed around the engine", state("CL001"), Fatal},
	{"ledger touched", state("CL002"), Fatal},
	{"no such table", state("42P01"), Fatal},
	{"not permitted", state("42501"), Fatal},
	{"internal error", state("XX000"), Fatal},
}

var reset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

var otherErrors = []classifyCase{
	{"connection refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, Transient},
	{"connection reset", reset, Transient},
	{"end of the stream", io.ErrUnexpectedEOF, Transient},
	{"closed connection", net.ErrClosed, Transient},
	{"closed pool", errClosed, Transient},
	{"cancelled", context.Canceled, Transient},
	{"deadline", context.DeadlineExceeded, Transient},
	{"coupon appeared", errAppeared, Transient},
	{"links grow", errLinksGrow, Transient},
	{"rolled back", errRolledBack, Transient},
	{"too many orders", ErrTooManyOrders, Poison},
	{"written without a lock", ErrUnlocked, Fatal},
	{"anything else", errors.New("surprise"), Fatal},
}

// commitErrors happened on the trip that ended with COMMIT.
var commitErrors = []classifyCase{
	{"commit: statement refused", commitOutcome(state("23505")), Poison},
	{"commit: rows changed around the engine", commitOutcome(state("CL001")), Fatal},
	{"commit: lock timeout", commitOutcome(state("55P03")), Transient},
	{"commit: shut down", commitOutcome(state("57P01")), Ambiguous},
	{"commit: idle in transaction", commitOutcome(state("25P03")), Ambiguous},
	{"commit: connection failure", commitOutcome(state("08006")), Ambiguous},
	{"commit: connection reset", commitOutcome(reset), Ambiguous},
	{"commit: end of the stream", commitOutcome(io.ErrUnexpectedEOF), Ambiguous},
	{"commit: deadline", commitOutcome(context.DeadlineExceeded), Ambiguous},
	{"commit: connection lost before", commitOutcome(unsent{}), Transient},
	{"commit: our own mistake", commitOutcome(ErrUnlocked), Fatal},
}

func state(code string) error { return &pgconn.PgError{Code: code, Message: "whatever"} }

// unsent is an error after which nothing had been sent yet.
type unsent struct{}

func (unsent) Error() string     { return "connection was closed" }
func (unsent) SafeToRetry() bool { return true }
