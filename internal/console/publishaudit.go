package console

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

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
func (d *Database) PublishFact(ctx context.Context, b *Broker, fact Fact, by deadletter.Decision) (Published, error) {
	if _, err := fact.publication(); err != nil {
		return Published{}, err
	}
	key, err := uuid.NewV7()
	if err != nil {
		return Published{}, fmt.Errorf("draw the key of an audit row: %w", err)
	}
	arguments, err := json.Marshal(publishArguments{
		Type: fact.Type, OccurredAt: fact.Time, Shape: fact.Shape, Repeat: fact.Repeat,
		Hash: fmt.Sprintf("%x", sha256.Sum256(fact.Data)),
	})
	if err != nil {
		return Published{}, fmt.Errorf("write down what is published: %w", err)
	}
	row := coupon.AuditRow{
		Actor: by.Actor, Action: "PublishFact", Subject: fact.ID, Reason: by.Reason, Key: key.String(), Code: auditStarted,
		Arguments: arguments,
	}
	if err := d.store.Record(ctx, row); err != nil {
		return Published{}, err
	}
	done, failed := b.PublishFact(ctx, fact)
	row.Code, row.Count = auditDone, int64(done.Copies)
	if failed != nil {
		row.Code = auditStopped
	}
	// What was interrupted has published something all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	return done, errors.Join(failed, d.store.Record(ctx, row))
}
