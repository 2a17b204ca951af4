package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
)

func publishing(t *testing.T, messageType, id string, data fields) amqp091.Publishing {
	t.Helper()
	body, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return amqp091.Publishing{
		MessageId: id, Type: messageType, ContentType: "application/json", Timestamp: time.Now(), Body: body,
	}
}

func errorText(err error) string {
	if err == nil {
		return "not yet"
	}
	return err.Error()
}

// waitForState waits until a coupon is in a state.
func waitForState(t *testing.T, space *fleet.Space, id string, state coupon.State) {
	t.Helper()
	testkit.Eventually(t, time.Minute, fmt.Sprintf("coupon %s is %s", id, state), func() (bool, string) {
		history, found, err := space.Store.History(t.Context(), id)
		if err != nil || !found {
			return false, errorText(err)
		}
		return history.Coupon.State == state, string(history.Coupon.State)
	})
}

// ledger checks the operations of a coupon.
func ledger(t *testing.T, space *fleet.Space, id string, want ...coupon.Operation) {
	t.Helper()
	history, _, err := space.Store.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var got []coupon.Operation
	for i := range history.Operations {
		got = append(got, history.Operations[i].Operation)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ledger of %s (-want +got):\n%s", id, diff)
	}
}

// flow checks the steps of a redemption at a till.
func flow(t *testing.T, space *fleet.Space, redeemNo string, want ...coupon.FlowStep) {
	t.Helper()
	rows, err := space.Store.Flow(t.Context(), redeemNo)
	if err != nil {
		t.Fatal(err)
	}
	var got []coupon.FlowStep
	for _, row := range rows {
		got = append(got, row.Step)
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps of %s: %v, want %v", redeemNo, got, want)
	}
}
