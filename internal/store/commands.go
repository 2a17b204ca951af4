package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/appeared_orders.sql
	appearedOrdersSQL string
	//go:embed sql/dump_answers.sql
	dumpAnswersSQL string
	//go:embed sql/dump_flows.sql
	dumpFlowsSQL string
	//go:embed sql/insert_answers.sql
	insertAnswersSQL string
	//go:embed sql/insert_flows.sql
	insertFlowsSQL string
	//go:embed sql/read_answers.sql
	readAnswersSQL string
	//go:embed sql/read_flow.sql
	readFlowSQL string
	//go:embed sql/open_flows.sql
	openFlowsSQL string
	//go:embed sql/read_reviews.sql
	readReviewsSQL string
	//go:embed sql/resolve_reviews.sql
	resolveReviewsSQL string
	//go:embed sql/read_lasts.sql
	readLastsSQL string
	//go:embed sql/timeline_commands.sql
	timelineCommandsSQL string
	//go:embed sql/timeline_flows.sql
	timelineFlowsSQL string
)

// Answer gives what the command with an idempotency key was answered, nil when no such
// command was carried out. It takes no locks: one that is being carried out is not
// seen.
func (s *Store) Answer(ctx context.Context, key string) (*coupon.Answer, error) {
	var answers []*coupon.Answer
	if err := s.each(ctx, readAnswersSQL, list(&answers, scanAnswerRow), texts{key}); err != nil {
		return nil, fmt.Errorf("read the answer to a command: %w", err)
	}
	if len(answers) == 0 {
		return nil, nil
	}
	return answers[0], nil
}

// Flow gives the steps of a redemption at a till, in order, none for a redeem number
// that nobody has asked for. coupon.RedeemNumber makes one of the till's request id.
func (s *Store) Flow(ctx context.Context, redeemNo string) ([]coupon.FlowRow, error) {
	var steps []coupon.FlowRow
	if err := s.each(ctx, readFlowSQL, list(&steps, scanFlowRow), redeemNo); err != nil {
		return nil, fmt.Errorf("read the steps of redemption %s: %w", redeemNo, err)
	}
	return steps, nil
}

// readCommands adds what commands need besides the locked rows; batches without
// commands ask nothing of it.
func (tx *transaction) readCommands(t *trip) {
	if len(tx.asked.keys) > 0 {
		t.query("read answers", readAnswersSQL, tx.scanAnswer, texts(tx.asked.keys))
	}
	if len(tx.asked.reversed) > 0 {
		t.query("read what is to be reversed", readLastsSQL, tx.scanLast, texts(tx.asked.reversed))
	}
	if len(tx.asked.flows) > 0 {
		t.query("read redemptions at tills", openFlowsSQL, func(rows pgx.Rows) error {
			flow, err := scanFlowRow(rows)
			if err == nil {
				tx.world.AddFlow(flow)
			}
			return err
		}, texts(tx.asked.flows))
	}
	if len(tx.asked.resolved) > 0 {
		t.query("read cases to decide", readReviewsSQL, tx.scanReview, uuids(tx.asked.resolved))
	}
	var unknown texts
	for _, id := range tx.asked.holders {
		if tx.orders[id] == nil {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		t.query("look for orders again", appearedOrdersSQL, func(pgx.Rows) error { return errAppeared }, unknown)
	}
}
