package messages

import (
	"fmt"
	"log/slog"
)

// The messages that hold tokens hide them from package slog, whose JSON handler
// would write them out.

// LogValue shows the message without its tokens.
func (o OrderPlaced) LogValue() slog.Value { return hidden(o) }

// LogValue shows the message without its token.
func (c RenewLease) LogValue() slog.Value { return hidden(c) }

// LogValue shows the message without its token.
func (c ReleaseLease) LogValue() slog.Value { return hidden(c) }

// LogValue shows the message without its token.
func (c RedeemCoupon) LogValue() slog.Value { return hidden(c) }

// LogValue shows the message without its token.
func (r CommandReply) LogValue() slog.Value { return hidden(r) }

// hidden relies on [Token.Format].
func hidden(m Message) slog.Value { return slog.StringValue(fmt.Sprintf("%+v", m)) }
