package daemon

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
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
			s := seals{keys, telemetry.New(), quietLog()}
			stored := string(test.message.Body)
			body, err := s.open(&test.message)
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
			case (err == nil) != (test.lost == "") || !strings.Contains(fmt.Sprint(err), test.lost):
				t.Errorf("error %v, want %q", err, test.lost)
			case err != nil && strings.Contains(err.Error(), string(token)):
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}

func TestLostTokensAreReportedInOneLine(t *testing.T) {
	for count, line := range map[int]string{
		0: "", 1: "answers=1 first=\"no key\"\n", 3: "answers=3 first=\"no key\"\n",
	} {
		shown := &bytes.Buffer{}
		s := seals{leasetoken.Random(), telemetry.New(), slog.New(slog.NewTextHandler(shown, nil))}
		lost := []error{errors.New("no key"), errors.New("no key either"), errors.New("nor here")}
		s.report(lost[:count])
		if got := shown.String(); strings.Count(got, "\n") != strings.Count(line, "\n") || !strings.HasSuffix(got, line) {
			t.Errorf("%d lost: the log says %q, want %q", count, got, line)
		}
		checkLost(t, s.metrics, count)
	}
}

// checkLost looks at what the counter says.
func checkLost(t *testing.T, metrics *telemetry.Registry, lost int) {
	t.Helper()
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
	body, err := s.open(&m)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		t.Fatal(err)
	}
	if got := reply.LeaseToken.Hash(); hex.EncodeToString(got[:]) != m.Seal.Hash {
		t.Errorf("the token's hash is %x, want %s", got, m.Seal.Hash)
	}
}

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
