package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/console"
	"couponlease/internal/deadletter"
)

// withToken is a payment whose sender put a lease token into it.
func withToken(order string) string {
	return strings.Replace(payment(order, time.Now().Add(-time.Hour)), "{", `{"leaseToken":"hush",`, 1)
}

// A letter that lost its lease token is another message than its sender's. It is not
// sent, and whoever wants to replay it is told before and afterwards.
func TestLettersWithoutTheirTokenAreNotSent(t *testing.T) {
	m := newMorgue(t)
	applied, reused := withToken("known"), withToken("reused")
	m.applied("m-known", "known", applied)
	m.applied("m-reused", "reused", reused)
	m.letter("m-known", "known", applied)
	m.letter("m-reused", "reused", reused)
	m.letter("m-other", "other", withToken("other"))
	m.letter("m-plain", "plain", "")
	m.scalar(`update dead_letter set reason = 'ID_REUSE' where message_id = 'm-reused' returning reason`)

	const refused = "its lease token is not kept"
	ctl(t, "dead", "list").want(t, exitOK, "NEW (no token)")
	ctl(t, "dead", "show", m.ids["m-other"]).want(t, exitOK, refused)
	run := ctl(t, "dead", "replay", "--state", "NEW", "--dry-run", "-o", "json")
	run.want(t, exitOK, refused)
	predicted := map[string]string{}
	for line := range strings.Lines(run.stdout) {
		var p console.Prediction
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		if p.ID != "" {
			predicted[p.MessageID] = string(p.Verdict)
		}
	}
	want := map[string]string{
		"m-known": "DUPLICATE", "m-reused": "WOULD_FAIL", "m-other": "WOULD_FAIL", "m-plain": "WOULD_APPLY",
	}
	if diff := cmp.Diff(want, predicted); diff != "" {
		t.Errorf("predicted (-want +got):\n%s", diff)
	}

	job := decode[console.JobView](t, ctl(t, "dead", "replay", "--state", "NEW", "--yes", "--reason", "x", "-o", "json"))
	for decode[console.JobView](t, ctl(t, "jobs", "show", job.ID, "-o", "json")).Sent < job.Total {
		m.step(job.ID)
	}
	ctl(t, "jobs", "show", job.ID).want(t, exitOK, "FAILED_AGAIN 2", "DUPLICATE 1", refused)
	got := m.scalar(`select string_agg(message_id || ' ' || status || ' ' || outcome, ',' order by message_id) from dead_letter`)
	if got != "m-known RESOLVED DUPLICATE,m-other NEW FAILED_AGAIN,m-plain REPLAYED ,m-reused NEW FAILED_AGAIN" {
		t.Errorf("ended as %s", got)
	}
	if sent := m.scalar(`select sum(messages)::text from coupon_outbox where payload like '%m-%'`); sent != "1" {
		t.Errorf("%s messages were sent, want that of m-plain", sent)
	}
	if view := decode[console.DeadView](t, ctl(t, "dead", "show", m.ids["m-known"], "-o", "json")); !view.Redacted ||
		view.Status != deadletter.Resolved {
		t.Errorf("shown as %+v", view)
	}
	ctl(t, "dead", "edit", m.ids["m-other"], "--allow-edit", "--reason", "x", "--body",
		file(t, "token.json", withToken("other"))).want(t, exitFindings, refused)
}
