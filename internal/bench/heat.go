package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/leasetoken"
	"couponlease/internal/store"
	"couponlease/messages"
)

// spreadOver is how many coupons the commands are about that are to meet no other of
// their coupon in one batch.
const spreadOver = 10_000

// hotCodes are the coupons of commands.
func hotCodes(coupons int) []string {
	codes := make([]string, coupons)
	for i := range codes {
		codes[i] = fmt.Sprintf("hot-%06d", i)
	}
	return codes
}

// hotLease outlasts every measurement, so that no lease lapses in one.
const hotLease = 6 * time.Hour

// leased has every coupon locked by a checkout, and gives the tokens in the order of
// the codes.
func (g *ground) leased(t testing.TB, ctx context.Context, codes []string) []messages.Token {
	t.Helper()
	keys, err := leasetoken.Parse(g.TokenKeys)
	must(t, err, "read the token keys")
	locks := make([]coupon.Request, len(codes))
	for i, code := range codes {
		locks[i] = byKey(fmt.Sprintf("lock-%06d", i), coupon.LockCoupon{Coupon: code, Order: "quote-" + code, Lease: hotLease})
	}
	var tokens []messages.Token
	g.apart(t, ctx, engine.NewSource(keys), func(s *store.Store) {
		e := newEngine(s, silent)
		outcomes, errs := e.SubmitAll(ctx, locks)
		must(t, e.Close(ctx), "close the engine that locks coupons")
		for i, outcome := range outcomes {
			must(t, errs[i], "lock "+codes[i])
			token, known := keys.Secret(outcome.Answer.LeaseID, *outcome.Answer.Token)
			if !known {
				t.Fatalf("lock %s: its token is another key's", codes[i])
			}
			tokens = append(tokens, token)
		}
	})
	return tokens
}

// apart works on connections that are gone afterwards, and PostgreSQL has counted what
// was written on them.
func (g *ground) apart(t testing.TB, ctx context.Context, source coupon.Source, do func(*store.Store)) {
	t.Helper()
	s, err := store.Open(ctx, g.PostgresURL, store.Options{
		Rules: coupon.DefaultRules(), Source: source, ApplicationName: "bench",
	})
	must(t, err, "open a store")
	defer s.Close()
	do(s)
}

// byKey asks for a command. Its content is as unique as its key.
func byKey(key string, fact coupon.Command) coupon.Request {
	return coupon.Request{
		ID: key, Key: key, Hash: sha256.Sum256([]byte(key)), At: time.Now(), Actor: "bench", Fact: fact,
	}
}

// renewals are n commands that each renew one of the leases, the coupons in turn. Any
// order of them does, so that a full queue of them can be drained by two writers.
func renewals(codes []string, tokens []messages.Token, n int) []amqp.Publication {
	all := make([]amqp.Publication, n)
	for i := range all {
		key := fmt.Sprintf("renew-%08d", i)
		m := messages.RenewLease{
			CommandHead: messages.CommandHead{IdempotencyKey: key, OccurredAt: time.Now().UTC()},
			Code:        codes[i%len(codes)], LeaseToken: tokens[i%len(codes)],
			Lease: messages.LeaseFor(int64(hotLease / time.Second)),
		}
		body, err := json.Marshal(m)
		if err != nil {
			panic(fmt.Errorf("encode %s: %w", key, err)) // only texts, numbers and times
		}
		all[i] = amqp.Publication{
			Exchange: messages.ExchangeCommands, Key: m.MessageType(), ID: key, Type: m.MessageType(),
			ContentType: "application/json", Timestamp: time.Now().UTC(), Body: body, Mandatory: true,
		}
	}
	return all
}

// cycleLength is how many commands a cycle has, each of which changes the coupon.
const cycleLength = 5

// cycles are n commands: each coupon is locked and released, locked, redeemed, and the
// redemption reversed, again and again, the coupons in turn. They have to be asked for
// in this order.
func cycles(codes []string, n int) []coupon.Request {
	all := make([]coupon.Request, n)
	for i := range all {
		code, step := codes[i%len(codes)], i/len(codes)
		first := fmt.Sprintf("%s/%d/a", code, step/cycleLength)
		second := fmt.Sprintf("%s/%d/b", code, step/cycleLength)
		var fact coupon.Command
		switch step % cycleLength {
		case 0:
			fact = coupon.LockCoupon{Coupon: code, Order: first, Lease: hotLease}
		case 1:
			fact = coupon.ReleaseLease{Coupon: code, Token: coupon.HashToken(first)}
		case 2:
			fact = coupon.LockCoupon{Coupon: code, Order: second, Lease: hotLease}
		case 3:
			fact = coupon.RedeemCoupon{Coupon: code, Order: second, Token: coupon.HashToken(second)}
		default:
			fact = coupon.ReverseChange{Coupon: code, Reason: "bench"}
		}
		all[i] = byKey(fmt.Sprintf("cycle-%08d", i), fact)
	}
	return all
}

// foretold gives tokens that whoever knows the order knows, because cycles name the
// token before the lease exists.
func foretold() coupon.Source {
	source := engine.NewSource(leasetoken.Random())
	source.Token = func(_, order, _ string, _ int64) coupon.TokenHash { return coupon.HashToken(order) }
	return source
}
