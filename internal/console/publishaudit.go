package console

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
)

// publishArguments is what the audit log keeps of a fact that was published by hand.
type publishArguments struct {
	Type       string    `json:"type"`
	OccurredAt time.Time `json:"occurredAt"`
	Shape      Shape     `json:"shape"`
	Repeat     int       `json:"repeat"`
	// Hash is the SHA-256 of the data as it was given.
	Hash string `json:"dataSha256"`
}

// PublishFact publishes a fact between two rows of the audit log with one key, as an
// import has them: broker and database share no transaction. The first row without the
// second is a command that was killed, and nobody knows how many copies the broker has.
func (d *Database) PublishFact(
	ctx context.Context, b *Broker, fact Fact, by deadletter.Decision,
) (done Published, err error) {
	if _, err := fact.publication(); err != nil {
		return Published{}, err
	}
	row := coupon.AuditRow{Actor: by.Actor, Action: "PublishFact", Subject: fact.ID, Reason: by.Reason}
	asked := publishArguments{
		Type: fact.Type, OccurredAt: fact.Time, Shape: fact.Shape, Repeat: fact.Repeat,
		Hash: fmt.Sprintf("%x", sha256.Sum256(fact.Data)),
	}
	err = aroundAudit(ctx, d.store.Record, row, asked, func() (worked, error) {
		var err error
		done, err = b.PublishFact(ctx, fact)
		return worked{count: int64(done.Copies)}, err
	})
	return done, err
}
