package router

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/internal/amqp"
)

// outgoing keeps what is forwarded.
type outgoing struct{ sent []amqp.Publication }

func (o *outgoing) PublishBatch(_ context.Context, publications []amqp.Publication) []error {
	o.sent = append(o.sent, publications...)
	return make([]error, len(publications))
}

// Dead letters are read by people, who are not to become owners of leases; a message
// that is tried again needs its token.
func TestADeadLetterHasNoToken(t *testing.T) {
	const secret = "the-token-of-a-lease"
	for name, body := range map[string]string{
		"a field is missing": `{"idempotencyKey":"K","leaseToken":"` + secret + `"}`,
		"no JSON":            `{"code":"C1","leaseToken":"` + secret + `",`,
	} {
		t.Run(name, func(t *testing.T) {
			out := &outgoing{}
			config := Config{Publisher: out, Logger: slog.New(slog.DiscardHandler), Now: time.Now}
			c := &consumer{Config: config, queue: "commands", judge: tiers}
			for _, action := range []Action{Bury, Retry} {
				msg := message.NewMessage("m-1", []byte(body))
				if err := c.carryOut(msg, Verdict{Action: action, Reason: "why"}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if len(out.sent) != 2 {
				t.Fatalf("%d messages were forwarded", len(out.sent))
			}
			if dead := string(out.sent[0].Body); strings.Contains(dead, secret) || !strings.Contains(dead, "leaseToken") {
				t.Errorf("dead letter %s", dead)
			}
			if again := string(out.sent[1].Body); again != body {
				t.Errorf("tried again as %s", again)
			}
		})
	}
}
