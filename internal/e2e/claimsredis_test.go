package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/fleet"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
)

// redisCrowd is how many people come to each campaign.
const redisCrowd = 500

// slowFor is how long Redis does not answer.
const slowFor = 5 * time.Second

// Whatever happens to Redis in the middle of a crowd, exactly what there is goes out, all
// are answered, and in the end Redis is right again, with the same processes.
func TestCrowdGetsExactlyWhatThereIsWhateverRedisDoes(t *testing.T) {
	space, server := fleet.NewSpace(t), testkit.NewRedisServer(t)
	space.RedisURL = server.URL
	h := openHall(t, space, 2)
	var campaigns []string
	var saved claims.Level
	for _, trouble := range []struct {
		name        string
		happen, end func(t *testing.T, r *rush)
	}{
		{"forgets its scripts", func(t *testing.T, _ *rush) { server.ForgetScripts(t) }, nothing},
		{"is emptied", func(t *testing.T, _ *rush) { server.Flush(t) }, nothing},
		{"is killed and starts empty", func(t *testing.T, _ *rush) { server.Kill(t) }, func(t *testing.T, r *rush) {
			space.WaitForIssued(t, r.campaign, r.total*8/10) // by the database alone
			server.Start(t)
		}},
		{"is restored from an older state", func(t *testing.T, r *rush) {
			var err error
			if saved, err = h.pool.Level(t.Context(), r.campaign); err != nil {
				t.Error(err)
			}
			server.Save(t)
		}, func(t *testing.T, r *rush) {
			// More goes out than had by then.
			space.WaitForIssued(t, r.campaign, r.total-saved.Left+r.total/10)
			server.Kill(t)
			server.Start(t)
			if books := space.Template(t, r.campaign); saved.Left <= books.Left() {
				t.Errorf("the older state is %+v, and the books have %d left", saved, books.Left())
			}
		}},
		{"does not answer for a while", func(t *testing.T, _ *rush) { server.Freeze(t) }, func(t *testing.T, _ *rush) {
			<-time.After(slowFor)
			server.Thaw(t)
		}},
		{"is a replica for a while", func(t *testing.T, _ *rush) { server.Demote(t) }, func(t *testing.T, r *rush) {
			space.WaitForIssued(t, r.campaign, r.total*8/10)
			h.saysThatItIsAReplica(t)
			server.Promote(t)
		}},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			h.awaitRedis(t)
			r := h.rush(t, strings.ReplaceAll(trouble.name, " ", "-"), redisCrowd)
			campaigns = append(campaigns, r.campaign)
			r.runWith(t, func() { trouble.happen(t, r) }, func() { trouble.end(t, r) })
			r.check(t)
		})
	}
	h.close(t, campaigns...)
	for _, replica := range h.replicas {
		if replica.Exited() {
			t.Errorf("a replica ended\n%s", replica.Log())
		}
	}
	h.figures(t, h.replicas)
}

func nothing(*testing.T, *rush) {}

// awaitRedis waits until all replicas use Redis again after the trouble before.
func (h *hall) awaitRedis(t *testing.T) {
	t.Helper()
	for _, replica := range h.replicas {
		testkit.Eventually(t, time.Minute, "the replica uses Redis", func() (bool, string) {
			away, err := replica.Metric(telemetry.QuotaAway)
			return err == nil && away == 0, fmt.Sprint(away, err)
		})
	}
}

// saysThatItIsAReplica: somebody whom Redis refused has told the operator why, and claims
// went past it.
func (h *hall) saysThatItIsAReplica(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "a log says that Redis is a replica", func() (bool, string) {
		for _, replica := range h.replicas {
			if strings.Contains(replica.Log(), "is a replica and takes no writes") {
				return true, ""
			}
		}
		return false, h.replicas[0].Log()
	})
	var bypassed float64
	for _, replica := range h.replicas {
		n, err := replica.Metric(telemetry.ClaimsBypassed)
		if err != nil {
			t.Error(err)
		}
		bypassed += n
	}
	if bypassed == 0 {
		t.Error("no claim went past Redis")
	}
}
