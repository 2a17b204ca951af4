package daemon

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"couponlease/internal/leasetoken"
	"couponlease/internal/outbox"
	"couponlease/internal/telemetry"
	"couponlease/messages"
)

// sealed is an answer that waits for the token of a lease.
func sealed(keys leasetoken.Keys, lease string) outbox.Message {
	hash := keys.Hash(lease)
	return outbox.Message{
		ID: "m1", Key: "replies", Body: json.RawMessage(`{"code":"C1","outcome":"OK"}`),
		Seal: &outbox.Seal{Lease: lease, Hash: hex.EncodeToString(hash[:])},
	}
}

func TestSealsAreOpened(t *testing.T) {
	keys, other := leasetoken.Random(), leasetoken.Random()
	token, _ := keys.Secret("L1", keys.Hash("L1"))
	with := func(change func(*outbox.Message)) outbox.Message {
		m := sealed(keys, "L1")
		change(&m)
		return m
	}
	tests := []struct {
		name    string
		message outbox.Message
		lost    string // why the token is not in the body; "" when it is, or is not meant to be
		token   bool
	}{
		{"no seal", with(func(m *outbox.Message) { m.Seal = nil }), "", false},
		{"a seal", sealed(keys, "L1"), "", true},
		{"a seal of another key", sealed(other, "L1"), "none of the token keys made it", false},
		{"a seal of another lease", with(func(m *outbox.Message) { m.Seal.Lease = "L2" }), "none of the token keys made it", false},
		{"a seal without a hash", with(func(m *outbox.Message) { m.Seal.Hash = "" }), "its hash is not a SHA-256", false},
		{"a body that has a token", with(func(m *outbox.Message) { m.Body = json.RawMessage(`{"leaseToken":"t"}`) }),
			"open the seal", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shown := &bytes.Buffer{}
			s := seals{keys, telemetry.New(), slog.New(slog.NewTextHandler(shown, nil))}
			stored := string(test.message.Body)
			body := s.open(&test.message)
			if string(test.message.Body) != stored {
				t.Errorf("the stored message is now %s", test.message.Body)
			}
			var reply struct{ Code, Outcome, LeaseToken string }
			if err := json.Unmarshal(body, &reply); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			switch {
			case test.token && (reply.LeaseToken != string(token) || reply.Code != "C1" || reply.Outcome != "OK"):
				t.Errorf("body %s, want the token %s in it", body, string(token))
			case !test.token && string(body) != stored:
				t.Errorf("body %s, want it as it was stored", body)
			}
			checkLost(t, s.metrics, shown.String(), test.lost)
			if strings.Contains(shown.String(), string(token)) {
				t.Errorf("the log shows the token: %s", shown)
			}
		})
	}
}

// checkLost looks at what the counter and the log say.
func checkLost(t *testing.T, metrics *telemetry.Registry, log, why string) {
	t.Helper()
	lost := 0
	if why != "" {
		lost = 1
	}
	if lines := strings.Count(log, "\n"); lines != lost || !strings.Contains(log, why) {
		t.Errorf("the log says %q, want %d lines with %q", log, lost, why)
	}
	recorder := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if want := fmt.Sprintf("\n%s %d\n", telemetry.OutboxTokensLost, lost); !strings.Contains(recorder.Body.String(), want) {
		t.Errorf("the counter does not say %q", want)
	}
}

// A token in the body is the one that the hash in the database is of.
func TestOpenedTokenHasTheStoredHash(t *testing.T) {
	keys := leasetoken.Random()
	m := sealed(keys, "L1")
	s := seals{keys, telemetry.New(), quietLog()}
	var reply struct{ LeaseToken messages.Token }
	if err := json.Unmarshal(s.open(&m), &reply); err != nil {
		t.Fatal(err)
	}
	if got := reply.LeaseToken.Hash(); hex.EncodeToString(got[:]) != m.Seal.Hash {
		t.Errorf("the token's hash is %x, want %s", got, m.Seal.Hash)
	}
}

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
