package quota

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"couponlease/internal/claims"
	"couponlease/internal/testkit"
)

// flusher makes the server forget its scripts in the middle of a round trip, before the
// question with the number at: of the first one, or always.
type flusher struct {
	at     int
	rounds int
	always bool
}

func (*flusher) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*flusher) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (f *flusher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		f.rounds++
		if f.rounds > 1 && !f.always {
			return next(ctx, cmds)
		}
		return next(ctx, slices.Insert(slices.Clone(cmds), min(f.at, len(cmds)), redis.Cmder(redis.NewStatusCmd(ctx, "script", "flush"))))
	}
}

func TestScriptsForgottenInTheMiddle(t *testing.T) {
	for _, test := range []struct {
		name   string
		always bool
		want   []claims.Verdict
		left   int64
		wrong  string
	}{
		{
			"once", false, []claims.Verdict{claims.Granted, claims.Granted, claims.Granted, claims.Granted}, 6, "",
		}, {
			// The second round trip gives the script, then asks r3 and r4.
			"again and again", true, []claims.Verdict{claims.Granted, claims.Granted, claims.Granted, ""}, 7,
			"take a coupon: Redis forgot the script twice in a row",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := testkit.NewRedisServer(t)
			client, err := Open(server.URL, ClientOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			pool := NewPool(client, PoolOptions{Timeout: time.Minute})
			ctx := t.Context()
			if err := pool.Load(ctx, claims.Stock{Template: "T", Generation: 1, Left: 10, PerPerson: 5, PerDay: 5}); err != nil {
				t.Fatal(err)
			}
			pool.Take(ctx, []claims.Ask{{Template: "OTHER"}}) // the server knows the script
			client.redis.AddHook(&flusher{at: 2, always: test.always})
			var asks []claims.Ask
			for _, request := range []string{"r1", "r2", "r3", "r4"} {
				asks = append(asks, claims.Ask{Template: "T", Generation: 1, Request: request})
			}
			var got []claims.Verdict
			for _, taken := range pool.Take(ctx, asks) {
				got = append(got, taken.Verdict)
				if isWrong := taken.Verdict == ""; isWrong && (taken.Err == nil || taken.Err.Error() != test.wrong) {
					t.Errorf("got %v, want %s", taken.Err, test.wrong)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if level, err := pool.Level(ctx, "T"); err != nil || level.Left != test.left {
				t.Errorf("level %+v, %v; want %d left", level, err, test.left)
			}
			if pool.Stats().Away {
				t.Error("a Redis that answers is left alone")
			}
		})
	}
}
