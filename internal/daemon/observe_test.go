package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/store"
	"couponlease/internal/telemetry"
	"couponlease/messages"
	"couponlease/router"
)

func scrape(metrics *telemetry.Registry) string {
	recorder := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return recorder.Body.String()
}

func TestMessagesAreCountedByWhatTheyDid(t *testing.T) {
	happened := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	applied, same := coupon.Outcome{Status: coupon.Applied, Code: coupon.OK}, coupon.Outcome{Status: coupon.Unchanged, Code: coupon.Noop}
	refused := coupon.Outcome{Status: coupon.Refused, Code: coupon.AlreadyUsed, Answer: &coupon.Answer{Kind: "LockCoupon"}}
	again := coupon.Outcome{Status: coupon.Repeated, Code: coupon.DuplicateEvent}
	tests := []struct {
		action   router.Action
		reason   string
		outcomes []coupon.Outcome
		want     string
	}{
		{router.Ack, "OK", []coupon.Outcome{same, applied}, "applied"},
		{router.Ack, "NOOP", []coupon.Outcome{same}, "stale"},
		{router.Ack, "ALREADY_USED", []coupon.Outcome{refused, again}, "conflict"},
		{router.Ack, "DUPLICATE_EVENT", []coupon.Outcome{again}, "duplicate"},
		{router.Retry, "HANDLER_ERROR", []coupon.Outcome{{}}, "deferred"},
		{router.Requeue, "STOPPING", []coupon.Outcome{{}}, "returned"},
		{router.Bury, "ID_REUSE", []coupon.Outcome{{Status: coupon.Dead}}, "dead"},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			metrics := telemetry.New()
			newObserver(metrics).Settled(router.Settled{
				Queue: "q", Type: messages.TypeLockCoupon, Verdict: router.Verdict{Action: test.action, Reason: test.reason},
				Outcomes: test.outcomes, Attempt: 2, Redelivered: true, Happened: happened, Due: happened.Add(time.Second),
				Began: happened.Add(3 * time.Second), Took: time.Second,
			})
			page := scrape(metrics)
			want := []string{
				`couponlease_consumed_total{outcome="` + test.want + `",type="coupon.lock.v1"} 1`,
				`couponlease_redelivered_total{queue="q"} 1`,
				`couponlease_delay_lag_seconds_sum{queue="q"} 2`,
			}
			lacks := []string{telemetry.CriticalSeconds + "{", telemetry.IDReused + "{"}
			switch test.want {
			case "applied":
				lacks, want = lacks[1:], append(want, `couponlease_critical_seconds_sum{type="coupon.lock.v1"} 4`)
			case "dead":
				lacks, want = lacks[:1], append(want, `couponlease_id_reused_total{type="coupon.lock.v1"} 1`)
			case "conflict":
				want = append(want, `couponlease_answered_total{command="LockCoupon",outcome="refused"} 1`)
			case "stale", "duplicate":
				want = append(want, `couponlease_delivery_attempts_sum{queue="q"} 2`)
			}
			for _, line := range want {
				if !strings.Contains(page, "\n"+line+"\n") {
					t.Errorf("the scrape lacks %s", line)
				}
			}
			for _, line := range lacks {
				if strings.Contains(page, "\n"+line) {
					t.Errorf("the scrape has %s", line)
				}
			}
		})
	}
}

// Whatever is sent to us, the number of series has a bound.
func TestSeriesAreBounded(t *testing.T) {
	metrics := telemetry.New()
	o, d := newObserver(metrics), desk{metrics: metrics}
	for i := range 5000 {
		o.Settled(router.Settled{
			Queue: "q", Type: fmt.Sprint("type", i), Redelivered: true, Happened: time.Unix(1, 0), Due: time.Unix(1, 0),
			Verdict:  router.Verdict{Action: router.Ack, Reason: fmt.Sprint("reason", i)},
			Outcomes: []coupon.Outcome{{Status: coupon.Applied, Answer: &coupon.Answer{Kind: fmt.Sprint("kind", i)}}},
		})
		d.count(deadletter.Outcome(fmt.Sprint("outcome", i)))
	}
	const most = 2000
	if series := strings.Count(scrape(metrics), "\n"+"couponlease_"); series > most {
		t.Errorf("%d series, want at most %d", series, most)
	}
}

func TestReasonsOfDeadLettersAreBounded(t *testing.T) {
	var letters []store.OpenLetters
	for i := range 3 * mostReasons {
		letters = append(letters, store.OpenLetters{Reason: fmt.Sprint("R", i), Letters: 2, Oldest: time.Unix(int64(i), 0)})
	}
	letters[1].Reason = telemetry.Other
	got := byReason(letters)
	if len(got) != mostReasons+1 {
		t.Fatalf("%d reasons, want %d", len(got), mostReasons+1)
	}
	rest := got[mostReasons]
	if rest.Reason != telemetry.Other || rest.Letters != 4*mostReasons || rest.Oldest.Unix() != 1 {
		t.Errorf("the rest is %+v", rest)
	}
	if none := byReason(nil); len(none) != 1 || none[0].Letters != 0 {
		t.Errorf("no letters are %+v, want one figure of 0", none)
	}
}
