package outbox

import (
	"context"
	"errors"
	"time"
)

// ErrFenced says that another owner has taken the shard's lease since: whoever
// gets it must stop working on the shard.
var ErrFenced = errors.New("outbox shard was taken over")

// ErrReturned marks the error of a message the broker has nowhere to put: a
// mandatory message came back unroutable, its exchange does not exist, or it can
// never be sent as it is. It is the one kind of failure that does not hold its
// shard up for ever.
var ErrReturned = errors.New("returned")

// Row is one committed row: the messages of one transaction for one shard.
type Row struct {
	// ID comes from a sequence and was drawn while the row locks of the coupons
	// were held. Rows that share a coupon are therefore in commit order; rows that
	// do not may become visible in any order.
	ID        int64
	Payload   []byte
	CreatedAt time.Time
	// Parks is how many times the row was put aside.
	Parks int
}

// Parking asks to put one row aside.
type Parking struct {
	ID int64
	// Payload replaces the row's payload when it is not nil: what of it is left to
	// publish.
	Payload []byte
	// Reason is for people.
	Reason string
}

// Store is where committed rows wait. Only the store's own clock judges leases
// and how long rows were parked. All methods are safe for concurrent use. Except
// Acquire they take the fence of a lease and return ErrFenced, having done
// nothing, when a newer fence was handed out for the shard; a lease that ended
// without a successor still counts.
type Store interface {
	// Acquire takes the lease of a shard for ttl if it is free or has ended, and
	// extends it, with the same fence, if owner holds it now. Every lease taken
	// gets a greater fence than all before it. It returns held = false when
	// somebody else holds the lease.
	Acquire(ctx context.Context, shard int, owner string, ttl time.Duration) (fence int64, held bool, err error)
	// Pending returns committed rows that are neither parked nor listed in except,
	// lowest id first: at most the given number of rows, and no row that starts
	// beyond the given number of payload bytes, so that one row always comes. It
	// holds nothing after it returns.
	Pending(ctx context.Context, shard int, fence int64, except []int64, rows, bytes int) ([]Row, error)
	// Done removes published rows. Rows that are not there are no error.
	Done(ctx context.Context, shard int, fence int64, ids []int64) error
	// Park puts rows aside: visible to operators, skipped by Pending.
	Park(ctx context.Context, shard int, fence int64, rows []Parking) error
	// Unpark makes rows pending again that have been parked for at least rest,
	// longest parked first, at most limit. It returns how many.
	Unpark(ctx context.Context, shard int, fence int64, rest time.Duration, limit int) (int, error)
	// Release gives the lease up. A stale fence releases nothing, and that is no
	// error.
	Release(ctx context.Context, shard int, fence int64) error
}

// Publisher sends messages to the broker.
type Publisher interface {
	// PublishBatch sends the messages in order and returns when each is confirmed,
	// refused or given up: one entry per message, nil only for a message a queue
	// has safely taken. Errors that wrap ErrReturned mean that trying again at once
	// is pointless. It returns soon after ctx ends. Delays are counted from now.
	PublishBatch(ctx context.Context, messages []Message, now time.Time) []error
}
