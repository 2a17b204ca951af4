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

	"couponlease/internal/batcher"
)

type classifyCase struct {
	name string
	err  error
	want batcher.Class
}

func TestClassify(t *testing.T) {
	for _, test := range slices.Concat(serverErrors, otherErrors, commitErrors) {
		t.Run(test.name, func(t *testing.T) {
			if got := Classify(test.err); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := Classify(fmt.Errorf("apply: %w", test.err)); got != test.want {
				t.Errorf("wrapped: got %s, want %s", got, test.want)
			}
		})
	}
}

var serverErrors = []classifyCase{
	{"serialization failure", state("40001"), batcher.Transient},
	{"deadlock", state("40P01"), batcher.Transient},
	{"lock timeout", state("55P03"), batcher.Transient},
	{"statement timeout", state("57014"), batcher.Transient},
	{"administrator's shutdown", state("57P01"), batcher.Transient},
	{"crash shutdown", state("57P02"), batcher.Transient},
	{"starting up", state("57P03"), batcher.Transient},
	{"connection failure", state("08006"), batcher.Transient},
	{"disk full", state("53100"), batcher.Transient},
	{"out of memory", state("53200"), batcher.Transient},
	{"too many connections", state("53300"), batcher.Transient},
	{"input or output error", state("58030"), batcher.Transient},
	{"standby", state("25006"), batcher.Transient},
	{"idle in transaction", state("25P03"), batcher.Transient},
	{"password refused", state("28P01"), batcher.Transient},
	{"no such database", state("3D000"), batcher.Transient},
	{"cached plan after a migration", state("0A000"), batcher.Transient},
	{"statement lost by a pooler", state("26000"), batcher.Transient},
	{"statement known by a pooler", state("42P05"), batcher.Transient},
	{"missing partition", &pgconn.PgError{
		Code: "23514", Message: `no partition of relation "inbox" found for row`}, batcher.Transient},
	{"check constraint", &pgconn.PgError{
		Code: "23514", Message: `new row for relation "coupon_template" violates check constraint`}, batcher.Poison},
	{"same message at the same time", &pgconn.PgError{
		Code: "23505", TableName: "inbox_20260102", ConstraintName: "inbox_20260102_pkey"}, batcher.Transient},
	{"same coupon at the same time", &pgconn.PgError{
		Code: "23505", TableName: "user_coupon", ConstraintName: "user_coupon_pkey"}, batcher.Transient},
	{"same version twice", &pgconn.PgError{
		Code: "23505", TableName: "coupon_operation", ConstraintName: "coupon_operation_pkey"}, batcher.Poison},
	{"not null", state("23502"), batcher.Poison},
	{"bad text", state("22021"), batcher.Poison},
	{"number out of range", state("22003"), batcher.Poison},
	{"key too long", state("54000"), batcher.Poison},
	{"rows changed around the engine", state("CL001"), batcher.Fatal},
	{"ledger touched", state("CL002"), batcher.Fatal},
	{"no such table", state("42P01"), batcher.Fatal},
	{"not permitted", state("42501"), batcher.Fatal},
	{"internal error", state("XX000"), batcher.Fatal},
}

var reset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

var otherErrors = []classifyCase{
	{"connection refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, batcher.Transient},
	{"connection reset", reset, batcher.Transient},
	{"end of the stream", io.ErrUnexpectedEOF, batcher.Transient},
	{"closed connection", net.ErrClosed, batcher.Transient},
	{"closed pool", errClosed, batcher.Transient},
	{"cancelled", context.Canceled, batcher.Transient},
	{"deadline", context.DeadlineExceeded, batcher.Transient},
	{"coupon appeared", errAppeared, batcher.Transient},
	{"links grow", errLinksGrow, batcher.Transient},
	{"rolled back", errRolledBack, batcher.Transient},
	{"too many orders", ErrTooManyOrders, batcher.Poison},
	{"written without a lock", ErrUnlocked, batcher.Fatal},
	{"anything else", errors.New("surprise"), batcher.Fatal},
}

// commitErrors happened on the trip that ended with COMMIT.
var commitErrors = []classifyCase{
	{"commit: statement refused", commitOutcome(state("23505")), batcher.Poison},
	{"commit: rows changed around the engine", commitOutcome(state("CL001")), batcher.Fatal},
	{"commit: lock timeout", commitOutcome(state("55P03")), batcher.Transient},
	{"commit: shut down", commitOutcome(state("57P01")), batcher.Ambiguous},
	{"commit: idle in transaction", commitOutcome(state("25P03")), batcher.Ambiguous},
	{"commit: connection failure", commitOutcome(state("08006")), batcher.Ambiguous},
	{"commit: connection reset", commitOutcome(reset), batcher.Ambiguous},
	{"commit: end of the stream", commitOutcome(io.ErrUnexpectedEOF), batcher.Ambiguous},
	{"commit: deadline", commitOutcome(context.DeadlineExceeded), batcher.Ambiguous},
	{"commit: connection lost before", commitOutcome(unsent{}), batcher.Transient},
	{"commit: our own mistake", commitOutcome(ErrUnlocked), batcher.Fatal},
}

func state(code string) error { return &pgconn.PgError{Code: code, Message: "whatever"} }

// unsent is an error after which nothing had been sent yet.
type unsent struct{}

func (unsent) Error() string     { return "connection was closed" }
func (unsent) SafeToRetry() bool { return true }
