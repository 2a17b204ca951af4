package console

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"couponlease/internal/deadletter"
)

// EditDead puts a letter with another body, and an id of its own, in the place of one
// that cannot be applied as it is. The original is not replayed any more, and resolved
// with the new one. A body that still cannot be read, or that brings the old id along, is
// an ErrUsage, and so is a letter that wants its answer in a queue whose name begins with
// none of replyQueues: another body does not change that.
func (d *Database) EditDead(
	ctx context.Context, id string, body []byte, replyQueues []string, by deadletter.Decision,
) (DeadView, error) {
	original, _, err := d.store.Letter(ctx, id, 0)
	if err != nil {
		return DeadView{}, deadError(err)
	}
	edited, err := editedLetter(&original, body, newLetterReader(replyQueues))
	if err != nil {
		return DeadView{}, Usage(fmt.Errorf("the corrected message cannot be applied either: %w", err))
	}
	if err := d.store.EditLetter(ctx, original, edited, by); err != nil {
		return DeadView{}, deadError(err)
	}
	return d.DeadLetter(ctx, edited.ID)
}

func editedLetter(original *deadletter.Letter, body []byte, reader letterReader) (deadletter.Letter, error) {
	messageID, err := uuid.NewV7()
	if err != nil {
		return deadletter.Letter{}, fmt.Errorf("draw the id of a message: %w", err)
	}
	letterID, err := uuid.NewV7()
	if err != nil {
		return deadletter.Letter{}, fmt.Errorf("draw the id of a letter: %w", err)
	}
	headers := map[string]string{}
	for name, value := range original.Headers {
		if strings.EqualFold(name, "cloudEvents:id") || strings.EqualFold(name, "cloudEvents_id") {
			value = messageID.String()
		}
		headers[name] = value
	}
	edited := deadletter.NewLetter(deadletter.Incoming{
		MessageID: messageID.String(), Type: original.Type, ContentType: original.ContentType,
		CorrelationID: original.CorrelationID, ReplyTo: original.ReplyTo, Timestamp: original.Sent,
		Headers: headers, Body: body,
	})
	edited.ID, edited.EditedFrom, edited.Queue = letterID.String(), original.ID, original.Queue
	edited.Reason = original.Reason
	edited.Exchange, edited.RoutingKey = original.Exchange, original.RoutingKey
	edited.First, edited.Attempts = original.First, original.Attempts
	requests, err := reader.requests(&edited)
	if err != nil {
		return edited, err
	}
	for i := range requests {
		if requests[i].ID == original.MessageID && requests[i].ID != "" {
			return edited, errors.New("the body brings the old id along: give it another one")
		}
	}
	order, coupons := "", []string(nil)
	for i := range requests {
		if orders := requests[i].Fact.Orders(); order == "" && len(orders) > 0 {
			order = orders[0]
		}
		coupons = append(coupons, requests[i].Fact.Coupons()...)
	}
	edited.Describe("", order, coupons)
	edited.Fail(original.Reason, original.Error, original.Last)
	return edited, nil
}
