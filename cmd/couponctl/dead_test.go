package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/store"
	"couponlease/messages"
)

// morgue is a migrated database with dead letters.
type morgue struct {
	t       testing.TB
	address string
	store   *store.Store
	ids     map[string]string // of letters, by message id
}

func newMorgue(t testing.TB) *morgue {
	t.Helper()
	m := &morgue{t: t, address: migrated(t), ids: map[string]string{}}
	opened, err := store.Open(t.Context(), m.address, store.Options{Rules: coupon.DefaultRules()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	m.store = opened
	return m
}

// letter files a dead payment of an order, or a body as it is.
func (m *morgue) letter(messageID, order, body string, change ...func(*deadletter.Letter)) {
	m.t.Helper()
	if body == "" {
		body = payment(order, time.Now().Add(-time.Hour))
	}
	l := deadletter.NewLetter(deadletter.Incoming{
		MessageID: messageID, Type: messages.TypePaymentSucceeded, ContentType: "application/json", Body: []byte(body),
	})
	l.ID, l.Queue, l.Order = uuid.Must(uuid.NewV7()).String(), "coupon-payment-succeeded", order
	for _, f := range change {
		f(&l)
	}
	l.Fail("HANDLER_ERROR", "it broke", time.Now().Add(-time.Minute))
	if err := m.store.FileLetters(m.t.Context(), []deadletter.Letter{l}); err != nil {
		m.t.Fatal(err)
	}
	m.ids[messageID] = l.ID
}

func payment(order string, at time.Time) string {
	return fmt.Sprintf(`{"orderId":%q,"paymentId":"p-%s","amount":{"amount":100,"currency":"EUR"},"occurredAt":%q}`,
		order, order, at.UTC().Format(time.RFC3339))
}

// applied has a payment answered, so that its message is known.
func (m *morgue) applied(messageID, order, body string) {
	m.t.Helper()
	envelope, err := messages.Parse(messages.Delivery{
		Body: []byte(body), MessageID: messageID, Type: messages.TypePaymentSucceeded, ContentType: "application/json",
	})
	if err != nil {
		m.t.Fatal(err)
	}
	request := coupon.Request{ID: messageID, Hash: envelope.Hash, At: envelope.Time, Fact: coupon.PaymentSucceeded{
		Order: order, Payment: "p-" + order, Amount: 100, Currency: "EUR",
	}}
	err = m.store.Apply(m.t.Context(), []coupon.Request{request}, func(world *coupon.World) {
		coupon.Decide(world, &request)
		world.Seal()
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// scalar runs a query that gives one text.
func (m *morgue) scalar(query string) (text string) {
	m.t.Helper()
	conn, err := pgx.Connect(m.t.Context(), m.address)
	if err != nil {
		m.t.Fatal(err)
	}
	defer conn.Close(m.t.Context())
	if err := conn.QueryRow(m.t.Context(), query).Scan(&text); err != nil {
		m.t.Fatalf("%s: %v", query, err)
	}
	return text
}

func TestDryRunPredictsAndWritesNothing(t *testing.T) {
	m := newMorgue(t)
	old := payment("old", time.Now().AddDate(0, 0, -40))
	body := payment("twice", time.Now().Add(-time.Hour))
	m.applied("m-twice", "twice", body)
	m.letter("m-new", "new", "")
	m.letter("m-twice", "twice", body)
	m.letter("m-again", "twice", body)
	m.letter("m-bad", "bad", `{"orderId":`)
	m.letter("m-missing", "missing", `{"orderId":"missing"}`)
	m.letter("m-old", "old", old)
	// The same id of the same day, with another body.
	m.applied("m-reuse", "reuse", strings.Replace(payment("reuse", time.Now().Add(-time.Hour)), "{", `{"note":"x",`, 1))
	m.letter("m-reuse", "reuse", "")
	const everything = `select (select count(*) from inbox) || ' ' || (select count(*) from order_fact) || ' ' ||
		(select count(*) from coupon_outbox) || ' ' || (select string_agg(status, '') from dead_letter) || ' ' ||
		(select count(*) from audit_log)`
	before := m.scalar(everything)
	run := ctl(t, "dead", "replay", "--state", "NEW", "--dry-run", "-o", "json")
	run.want(t, exitOK)
	got := map[string]string{}
	for line := range strings.Lines(run.stdout) {
		var p console.Prediction
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		if p.ID != "" {
			got[p.MessageID] = string(p.Verdict)
		}
	}
	want := map[string]string{
		"m-new": "WOULD_APPLY", "m-twice": "DUPLICATE", "m-again": "DUPLICATE", "m-bad": "STILL_MALFORMED",
		"m-missing": "STILL_MALFORMED", "m-old": "OUTSIDE_WINDOW", "m-reuse": "WOULD_FAIL",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if after := m.scalar(everything); after != before {
		t.Errorf("the dry run has written: %s, before %s", after, before)
	}
	ctl(t, "dead", "replay", "--state", "NEW", "--dry-run").want(t, exitOK, "7 dead letters; nothing was changed")
}

func TestLettersAreFoundAndPaged(t *testing.T) {
	m := newMorgue(t)
	for i := range 5 {
		m.letter(fmt.Sprintf("m-%d", i), fmt.Sprintf("o-%d", i), "", func(l *deadletter.Letter) { l.Coupons = []string{"spring-1"} })
	}
	var seen []string
	for cursor := ""; ; {
		page := decode[console.DeadPage](t, ctl(t, "dead", "list", "--coupon", " SPRING-1 ", "--limit", "2", "--cursor", cursor, "-o", "json"))
		for _, l := range page.Letters {
			seen = append(seen, l.MessageID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if want := []string{"m-4", "m-3", "m-2", "m-1", "m-0"}; !slices.Equal(seen, want) {
		t.Errorf("pages held %v, want %v", seen, want)
	}
	ctl(t, "dead", "list", "--order", "o-3").want(t, exitOK, m.ids["m-3"])
	ctl(t, "dead", "groups").want(t, exitOK, "HANDLER_ERROR", "it broke")
	ctl(t, "dead", "stats").want(t, exitOK, "5 dead letters")
	ctl(t, "dead", "show", m.ids["m-1"]).want(t, exitOK, `"orderId":"o-1"`, "it broke", "coupon-payment-succeeded")
	ctl(t, "dead", "show", newUUID()).want(t, exitFindings, "not found")
	ctl(t, "dead", "show", "5").want(t, exitFindings, "is not the id of a dead letter")
	ctl(t, "dead", "list", "--state", "GONE").want(t, exitFindings, "DISCARDED")
	exported := ctl(t, "dead", "export", "--state", "ALL")
	exported.want(t, exitOK, "5 dead letters")
	if lines := strings.Count(exported.stdout, "\n"); lines != 5 {
		t.Errorf("%d lines were exported", lines)
	}
}

func newUUID() string { return uuid.Must(uuid.NewV7()).String() }

func TestLettersAreChangedByHandAndAudited(t *testing.T) {
	m := newMorgue(t)
	m.letter("m-1", "o-1", "")
	m.letter("m-2", "o-2", "")
	why := []string{"--reason", "ticket 1"}
	do := func(args ...string) outcome { return ctl(t, append(append([]string{"dead"}, args...), why...)...) }
	do("discard", "--state", "NEW").want(t, exitFindings, "2 dead letters are selected", "--yes")
	do("discard").want(t, exitFindings, "by id or by filter")
	ctl(t, "dead", "discard", m.ids["m-1"]).want(t, exitFindings, "--reason")
	do("discard", "--state", "NEW", "--yes").want(t, exitOK, "2 dead letters now DISCARDED")
	do("discard", m.ids["m-1"]).want(t, exitConflict, "is DISCARDED")
	do("restore", m.ids["m-1"]).want(t, exitOK, "1 dead letter now NEW")
	do("note", m.ids["m-1"], "ask the shop").want(t, exitOK)
	ctl(t, "dead", "show", m.ids["m-1"]).want(t, exitOK, "ask the shop")
	if got := m.scalar(`select string_agg(action || ' ' || count, ',' order by audit_id) from audit_log`); got !=
		"DiscardDeadLetters 2,RestoreDeadLetters 1,NoteDeadLetter 1" {
		t.Errorf("audited: %s", got)
	}
	ctl(t, "audit", "list", "--action", "DiscardDeadLetters").want(t, exitOK, "ticket 1")
}

func TestLetterIsEditedOnlyWhenThatIsAllowed(t *testing.T) {
	m := newMorgue(t)
	m.letter("m-1", "o-1", `{"orderId":"o-1"}`)
	good := file(t, "good.json", payment("o-1", time.Now()))
	bad := file(t, "bad.json", `{"orderId":"o-1"}`)
	edit := func(body string, more ...string) outcome {
		return ctl(t, append([]string{"dead", "edit", m.ids["m-1"], "--body", body, "--reason", "mended"}, more...)...)
	}
	edit(good).want(t, exitFindings, "--allow-edit")
	edit(bad, "--allow-edit").want(t, exitFindings, "TIME_MISSING")
	view := decode[console.DeadView](t, edit(good, "--allow-edit", "-o", "json"))
	if view.Edited != m.ids["m-1"] || view.MessageID == "m-1" || view.Status != deadletter.New || view.Order != "o-1" {
		t.Errorf("edited: %+v", view)
	}
	edit(good, "--allow-edit").want(t, exitConflict, "is EDITED")
	ctl(t, "dead", "restore", m.ids["m-1"], "--reason", "x").want(t, exitConflict)
	ctl(t, "dead", "discard", view.ID, "--reason", "x").want(t, exitOK)
	ctl(t, "dead", "restore", m.ids["m-1"], "--reason", "x").want(t, exitOK)
	ctl(t, "audit", "list", "--action", "EditDeadLetter").want(t, exitOK, "mended")
}

// T61, T64 and T66 as an operator sees them: one replay has a letter at a time, a letter
// that waits for its outcome shows, and what is resolved stays so without --force.
func TestT61T64T66ReplaysAreSteeredByHand(t *testing.T) {
	m := newMorgue(t)
	m.letter("m-1", "o-1", "")
	m.letter("m-2", "o-2", "")
	replay := func(more ...string) outcome {
		return ctl(t, append([]string{"dead", "replay", "--reason", "mended"}, more...)...)
	}
	job := decode[console.JobView](t, replay(m.ids["m-1"], "--canary", "1", "-o", "json"))
	replay(m.ids["m-1"]).want(t, exitConflict, "belongs to replay "+job.ID)
	ctl(t, "jobs", "list").want(t, exitOK, job.ID, "RUNNING")
	change := func(verb string) outcome { return ctl(t, "jobs", verb, job.ID, "--reason", "x") }
	change("pause").want(t, exitOK, "PAUSED (OPERATOR)", "jobs resume "+job.ID)
	change("pause").want(t, exitConflict, "is PAUSED")
	change("resume").want(t, exitOK, "RUNNING")
	m.step(job.ID)
	ctl(t, "jobs", "show", job.ID).want(t, exitOK, "1 sent, 0 settled", "waiting     since")
	m.settle(job.ID, "m-1")
	ctl(t, "jobs", "show", job.ID, "--wait").want(t, exitOK, "DONE", "APPLIED 1")
	replay(m.ids["m-1"]).want(t, exitConflict, "is RESOLVED")
	again := decode[console.JobView](t, replay(m.ids["m-1"], "--force", "-o", "json"))
	ctl(t, "jobs", "abort", again.ID, "--reason", "x").want(t, exitOK, "ABORTED", "SKIPPED 1")
	ctl(t, "dead", "show", m.ids["m-1"]).want(t, exitOK, "RESOLVED")
	replay("--state", "RESOLVED", "--yes").want(t, exitConflict, "no dead letter is there to be replayed")
	replay("--state", "NEW").want(t, exitFindings, "1 dead letters are selected")
	replay(m.ids["m-2"], "--rate", "0").want(t, exitFindings, "rate")
	ctl(t, "jobs", "show", newUUID()).want(t, exitFindings, "not found")
}

// step sends what a job has to send, as a daemon does.
func (m *morgue) step(job string) {
	m.t.Helper()
	for sent := int64(0); sent == 0; {
		var err error
		sent, _, err = m.store.StepReplay(m.t.Context(), job, func(list []deadletter.ToSend) ([]coupon.OutboxRow, []deadletter.Settled, error) {
			return deadletter.Publications(list, 1)
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// settle records that the only letter of a job was applied.
func (m *morgue) settle(job, messageID string) {
	m.t.Helper()
	err := m.store.RecordReplays(m.t.Context(), []deadletter.Settled{{
		Item: deadletter.Item{Job: job, Position: 1}, MessageID: messageID, Outcome: deadletter.Applied,
	}})
	if err != nil {
		m.t.Fatal(err)
	}
}

// A body that is no text is shown all the same.
func TestLetterWithAnyBodyIsShown(t *testing.T) {
	m := newMorgue(t)
	m.letter("m-1", "", "\xff\x00{")
	ctl(t, "dead", "show", m.ids["m-1"]).want(t, exitOK, `\xff\x00{`)
	view := decode[console.DeadView](t, ctl(t, "dead", "show", m.ids["m-1"], "-o", "json"))
	if !bytes.Equal(view.BodyText, []byte("\xff\x00{")) {
		t.Errorf("body %q", view.BodyText)
	}
}
