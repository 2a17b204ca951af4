package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// answerRow is an answer whose refusals are encoded, "" for none.
type answerRow struct {
	*coupon.Answer
	refusals string
}

func encodeAnswers(answers []*coupon.Answer) ([]answerRow, error) {
	rows := make([]answerRow, len(answers))
	for i, a := range answers {
		rows[i].Answer = a
		if len(a.Refusals) == 0 {
			continue
		}
		document, err := json.Marshal(a.Refusals)
		if err != nil {
			return nil, fmt.Errorf("refusals of the answer %s: %w", a.Key, err)
		}
		rows[i].refusals = string(document)
	}
	return sorted(rows, func(a, b answerRow) int { return strings.Compare(a.Key, b.Key) }), nil
}

func answerColumns(rows []answerRow) []any {
	return []any{
		collect[texts](rows, func(r answerRow) string { return r.Key }),
		collect[integers](rows, func(r answerRow) int64 { return r.Version }),
		collect[times](rows, func(r answerRow) time.Time { return r.At }),
		collect[times](rows, func(r answerRow) time.Time { return r.Done }),
		collect[times](rows, func(r answerRow) time.Time { return r.Deadline }),
		collect[uuids](rows, func(r answerRow) string { return r.LeaseID }),
		collect[uuids](rows, func(r answerRow) string { return r.Operation }),
		collect[binaries](rows, func(r answerRow) []byte { return r.Hash[:] }),
		collect[texts](rows, func(r answerRow) string { return r.Kind }),
		collect[texts](rows, func(r answerRow) string { return r.Coupon }),
		collect[texts](rows, func(r answerRow) string { return r.Order }),
		collect[texts](rows, func(r answerRow) string { return string(r.Status) }),
		collect[texts](rows, func(r answerRow) string { return string(r.Code) }),
		collect[texts](rows, func(r answerRow) string { return string(r.State) }),
		collect[texts](rows, func(r answerRow) string { return r.Cause }),
		collect[texts](rows, func(r answerRow) string { return r.Actor }),
		collect[binaries](rows, func(r answerRow) []byte {
			if r.Token == nil {
				return nil
			}
			return r.Token[:]
		}),
		collect[optionalTexts](rows, func(r answerRow) string { return r.refusals }),
	}
}

// stage is 0 for the step that begins a flow and 1 for the one that ends it.
func stage(step coupon.FlowStep) int32 {
	if step.Ends() {
		return 1
	}
	return 0
}

func compareFlows(a, b coupon.FlowRow) int {
	return cmp.Or(strings.Compare(a.RedeemNo, b.RedeemNo), cmp.Compare(stage(a.Step), stage(b.Step)))
}

func flowColumns(rows []coupon.FlowRow) []any {
	type row = coupon.FlowRow
	return []any{
		collect[texts](rows, func(r row) string { return r.RedeemNo }),
		collect[smalls](rows, func(r row) int32 { return stage(r.Step) }),
		collect[times](rows, func(r row) time.Time { return r.At }),
		collect[uuids](rows, func(r row) string { return r.LeaseID }),
		collect[uuids](rows, func(r row) string { return r.Operation }),
		collect[texts](rows, func(r row) string { return r.Request }),
		collect[texts](rows, func(r row) string { return string(r.Step) }),
		collect[texts](rows, func(r row) string { return r.Coupon }),
		collect[texts](rows, func(r row) string { return string(r.Code) }),
		collect[texts](rows, func(r row) string { return r.Reason }),
		collect[texts](rows, func(r row) string { return r.Payment }),
		collect[texts](rows, func(r row) string { return r.Cause }),
	}
}
