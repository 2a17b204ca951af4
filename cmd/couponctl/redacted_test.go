package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/messages"
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
	if diff := cmp.Diff(map[string]string{
		"m-known": "DUPLICATE", "m-reused": "NEEDS_SENDER", "m-other": "NEEDS_SENDER", "m-plain": "WOULD_APPLY",
	}, m.predicted()); diff != "" {
		t.Errorf("predicted (-want +got):\n%s", diff)
	}
	job := m.replayAll()
	ctl(t, "jobs", "show", job).want(t, exitOK, "SKIPPED 2", "DUPLICATE 1", "skipped ", refused)
	got := m.scalar(endedAs)
	if got != "m-known RESOLVED DUPLICATE,m-other NEW SKIPPED,m-plain REPLAYED ,m-reused NEW SKIPPED" {
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

const endedAs = `select string_agg(message_id || ' ' || status || ' ' || outcome, ',' order by message_id) from dead_letter`

// predicted is the verdict of a dry run on each letter, by message id.
func (m *morgue) predicted(args ...string) map[string]string {
	m.t.Helper()
	run := ctl(m.t, append([]string{"dead", "replay", "--state", "NEW", "--dry-run", "-o", "json"}, args...)...)
	run.want(m.t, exitOK)
	predicted := map[string]string{}
	for line := range strings.Lines(run.stdout) {
		var p console.Prediction
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			m.t.Fatal(err)
		}
		if p.ID != "" {
			predicted[p.MessageID] = string(p.Verdict)
		}
	}
	return predicted
}

// replayAll sends all letters that are new, as the daemons do, and gives the job's id.
func (m *morgue) replayAll() string {
	m.t.Helper()
	job := decode[console.JobView](m.t, ctl(m.t, "dead", "replay", "--state", "NEW", "--yes", "--reason", "x", "-o", "json"))
	for decode[console.JobView](m.t, ctl(m.t, "jobs", "show", job.ID, "-o", "json")).Sent < job.Total {
		m.step(job.ID)
	}
	return job.ID
}

// command files a dead command whose sender showed a lease token.
func (m *morgue) command(messageID, messageType, key, code string) {
	m.t.Helper()
	body := fmt.Sprintf(`{"idempotencyKey":%q,"code":%q,"leaseToken":"hush","reason":"x"}`, key, code)
	m.letter(messageID, "", body, func(l *deadletter.Letter) {
		l.Type, l.Queue, l.Coupons = messageType, "coupon-commands", []string{coupon.Fold(code)}
		l.Sent = time.Now()
	})
}

// A command without its token is not sent either. Once its sender has asked again under
// the same key, the letter is done with; an answer to something else is none.
func TestCommandsWithoutTheirTokenWaitForTheirSender(t *testing.T) {
	m := newMorgue(t)
	m.command("m-asked-again", messages.TypeReleaseLease, "k-1", "Spring-1")
	m.command("m-other-coupon", messages.TypeReleaseLease, "k-1", "SPRING-2")
	m.command("m-other-command", messages.TypeRenewLease, "k-1", "SPRING-1")
	m.command("m-waits", messages.TypeReleaseLease, "k-2", "SPRING-1")
	m.command("m-misrouted", messages.TypeReleaseLease, "k-1", "SPRING-1")
	m.scalar(`update dead_letter set reason = 'MISROUTED' where message_id = 'm-misrouted' returning reason`)
	if got := m.predicted(); got["m-asked-again"] != "NEEDS_SENDER" {
		t.Errorf("before its sender asked again: %v", got)
	}
	t.Setenv(tokenVariable, "hush")
	ctl(t, "release", "SPRING-1", "--key", "k-1", "--reason", "x").want(t, exitConflict, "UNKNOWN_COUPON")

	ctl(t, "dead", "show", m.ids["m-asked-again"]).want(t, exitOK, "applied all the same")
	ctl(t, "dead", "show", m.ids["m-waits"]).want(t, exitOK, "the sender has to send it again")
	if diff := cmp.Diff(map[string]string{
		"m-asked-again": "DUPLICATE", "m-other-coupon": "NEEDS_SENDER", "m-other-command": "NEEDS_SENDER",
		"m-waits": "NEEDS_SENDER", "m-misrouted": "STILL_MALFORMED",
	}, m.predicted()); diff != "" {
		t.Errorf("predicted (-want +got):\n%s", diff)
	}
	job := m.replayAll()
	ctl(t, "jobs", "show", job, "--wait").want(t, exitFindings, "DONE", "SKIPPED 3", "DUPLICATE 1", "FAILED_AGAIN 1")
	got := m.scalar(endedAs)
	if got != "m-asked-again RESOLVED DUPLICATE,m-misrouted NEW FAILED_AGAIN,m-other-command NEW SKIPPED,"+
		"m-other-coupon NEW SKIPPED,m-waits NEW SKIPPED" {
		t.Errorf("ended as %s", got)
	}
	if sent := m.scalar(`select count(*)::text from coupon_outbox where payload like '%m-%'`); sent != "0" {
		t.Errorf("%s messages were sent", sent)
	}
}

// What a daemon would not answer is still malformed, and no other body helps.
func TestReplyQueuesCountInPredictions(t *testing.T) {
	m := newMorgue(t)
	for id, queue := range map[string]string{
		"m-none": "", "m-direct": "amq.rabbitmq.reply-to.g1h2AA5y", "m-reply": "reply.checkout", "m-invoices": "invoices",
	} {
		body := fmt.Sprintf(`{"idempotencyKey":%q,"code":"SPRING-1","orderId":"O1"}`, id)
		m.letter(id, "", body, func(l *deadletter.Letter) {
			l.Type, l.Queue, l.ReplyTo, l.Sent = messages.TypeLockCoupon, "coupon-commands", queue, time.Now()
		})
	}
	want := map[string]string{
		"m-none": "WOULD_APPLY", "m-direct": "WOULD_APPLY", "m-reply": "WOULD_APPLY", "m-invoices": "STILL_MALFORMED",
	}
	if diff := cmp.Diff(want, m.predicted()); diff != "" {
		t.Errorf("predicted (-want +got):\n%s", diff)
	}
	ctl(t, "dead", "replay", m.ids["m-invoices"], "--dry-run").want(t, exitOK, "answers may not be sent to")
	edit := []string{"dead", "edit", m.ids["m-invoices"], "--allow-edit", "--reason", "x", "--body",
		file(t, "lock.json", `{"idempotencyKey":"k","code":"SPRING-1","orderId":"O1"}`)}
	ctl(t, edit...).want(t, exitFindings, "answers may not be sent to")
	want["m-reply"], want["m-invoices"] = "STILL_MALFORMED", "WOULD_APPLY"
	if diff := cmp.Diff(want, m.predicted("--reply-queues", "invoices, answers-")); diff != "" {
		t.Errorf("predicted with other queues (-want +got):\n%s", diff)
	}
	t.Setenv("COUPONLEASE_REPLY_QUEUES", "invoices,answers-")
	if diff := cmp.Diff(want, m.predicted()); diff != "" {
		t.Errorf("predicted with the environment of the daemons (-want +got):\n%s", diff)
	}
	ctl(t, edit...).want(t, exitOK)
	ctl(t, "dead", "replay", "--state", "NEW", "--dry-run", "--reply-queues", "coupon-").want(t, exitFindings, "--reply-queues")
}
