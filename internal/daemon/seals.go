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

// open gives the body to send. A message whose token cannot be found goes out
// without: the rest of the answer is right, and waiting would not bring the key.
func (s seals) open(m *outbox.Message) []byte {
	if m.Seal == nil {
		return m.Body
	}
	body, err := s.unseal(m)
	if err != nil {
		s.metrics.Add(telemetry.OutboxTokensLost, 1)
		s.log.Warn("an answer goes out without its lease token",
			"message", m.ID, "lease", m.Seal.Lease, "error", err)
		return m.Body
	}
	return body
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
