package daemon

import (
	"errors"
	"fmt"
	"log/slog"

	"couponlease/internal/leasetoken"
	"couponlease/internal/outbox"
	"couponlease/internal/telemetry"
	"couponlease/messages"
)

// seals put lease tokens in the place of seals: the last moment before a message
// leaves the product, and the only one in which it holds a token.
type seals struct {
	keys    leasetoken.Keys
	metrics *telemetry.Registry
	log     *slog.Logger
}

// open gives the body to send. One whose token cannot be found comes as it was stored,
// with an error that says why: the rest of the answer is right, and waiting would not
// bring the key.
func (s seals) open(m *outbox.Message) ([]byte, error) {
	if m.Seal == nil {
		return m.Body, nil
	}
	body, err := s.unseal(m)
	if err != nil {
		return m.Body, fmt.Errorf("message %s, lease %s: %w", m.ID, m.Seal.Lease, err)
	}
	return body, nil
}

// report tells of answers that go out without their tokens: one line, however many
// they are, because they may be all.
func (s seals) report(lost []error) {
	if len(lost) == 0 {
		return
	}
	s.metrics.Add(telemetry.OutboxTokensLost, len(lost))
	s.log.Warn("answers go out without their lease tokens", "answers", len(lost), "first", lost[0])
}

// errNoKey says that the token cannot be made here.
var errNoKey = errors.New("none of the token keys made it: the replica that granted the lease has another one")

func (s seals) unseal(m *outbox.Message) ([]byte, error) {
	hash, ok := m.Seal.Sum()
	if !ok {
		return nil, errors.New("read the seal: its hash is not a SHA-256 in hex")
	}
	token, found := s.keys.Secret(m.Seal.Lease, hash)
	if !found {
		return nil, errNoKey
	}
	body, err := messages.WithLeaseToken(m.Body, token)
	if err != nil {
		return nil, fmt.Errorf("open the seal: %w", err)
	}
	return body, nil
}
