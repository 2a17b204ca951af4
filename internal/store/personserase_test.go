package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

// noPersonIn are the columns that name nobody: ids of something else, words of our own,
// hashes, and what a campaign says of itself.
var noPersonIn = map[string]string{
	"audit_log":               "action coupons outcome",
	"claim_counter":           "claim_day template_id",
	"coupon_command":          "cause_id code coupon_id idempotency_key kind order_id refusals request_hash state status token_hash",
	"coupon_lock":             "coupon_id order_id purpose token_hash",
	"coupon_operation":        "business_key cause_id coupon_id from_state operation order_id payment_id refund_id request_hash to_state",
	"coupon_outbox":           "parked_reason",
	"coupon_redemption":       "coupon_id order_id payment_id",
	"coupon_template":         "discount name status template_id zone",
	"coupon_template_version": "cause_id template_id terms",
	"dead_letter":             "body_hash content_type correlation_id coupons exchange fingerprint host kind message_id order_id outcome queue reason reply_to routing_key service_version status",
	"dead_letter_attempt":     "host reason service_version source",
	"finding":                 "coupon_id fault order_id repair severity subject template_id",
	"inbox":                   "code hash kind message_id order_id status",
	"lease_timer":             "coupon_id",
	"order_coupon":            "coupon_id order_id quote_id refusal reviews",
	"order_fact":              "children currency order_id parent_id payments reviews superseded_by_id supersedes_id",
	"outbox_lease":            "owner",
	"reconcile_run":           "faults",
	"redeem_flow":             "cause_id code coupon_id payment_id redeem_no request_id step",
	"refund_coupon":           "coupon_id decision order_id refund_id",
	"refund_fact":             "cause_id order_id refund_id",
	"replay_item":             "outcome",
	"replay_job":              "paused_for status",
	"return_policy":           "document",
	"review_case":             "cause_id coupon_id order_id reason resolution suggestion",
	"user_coupon":             "batch_id code coupon_id lease_order_id lease_purpose lease_token_hash origin redemption_order_id redemption_payment_id state template_id voided_from",
}

// TestEveryColumnIsErasedOrNamesNobody fails for a new column until somebody has decided
// whether it can name a person.
func TestEveryColumnIsErasedOrNamesNobody(t *testing.T) {
	decided := []string{ // moved row by row, or waited for
		"claim_counter.person_id", "coupon_outbox.payload", "order_fact.customer_id", "person_alias.alias",
		"person_alias.person_id", "user_coupon.owner_id",
	}
	for _, in := range personPlaces {
		decided = append(decided, in.table+"."+in.column)
	}
	for table, columns := range noPersonIn {
		for _, column := range strings.Fields(columns) {
			decided = append(decided, table+"."+column)
		}
	}
	var columns []string
	if err := open(t).each(t.Context(), `
		select c.relname || '.' || a.attname
		from pg_class c join pg_attribute a on a.attrelid = c.oid
		where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		  and a.attnum > 0 and not a.attisdropped and c.relname <> 'goose_db_version'
		  and format_type(a.atttypid, null) in ('text', 'text[]', 'jsonb', 'json', 'bytea', 'character varying', 'xml')`,
		list(&columns, scanText)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(decided)
	slices.Sort(columns)
	if diff := cmp.Diff(columns, decided); diff != "" {
		t.Errorf("columns that can hold a text (-there +decided):\n%s", diff)
	}
}

func erase(t testing.TB, s *Store, e Erasure) Erased {
	t.Helper()
	e.Actor = "op"
	done, err := s.Erase(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestAnErasureWaitsForTheOutboxAndGoesOn: in the meantime the person is the pseudonym
// already, and afterwards the ids are somebody new.
func TestAnErasureWaitsForTheOutboxAndGoesOn(t *testing.T) {
	s := campaigns(t)
	at := now(t, s)
	link(t, s, "ann@x.org", "p-4711")
	one(t, s, coupon.OK, claimed("k1", "p-4711", "batch", at))
	one(t, s, coupon.OK, request("o1", at, placedBy("ann@x.org", "o1", "camp-1")))
	would := erase(t, s, Erasure{ID: "Ann@x.org", DryRun: true})
	if would.Pseudonym != "" || would.Waiting != 1 || would.Aliases != 1 || would.Moved != (Moved{1, 1, 1}) {
		t.Errorf("it would do %+v", would)
	}
	begun := erase(t, s, Erasure{ID: "Ann@x.org", Reason: "asked by ann@x.org, ticket 5"})
	if begun.Waiting != 1 || begun.Moved != (Moved{1, 1, 1}) || !strings.HasPrefix(begun.Pseudonym, pseudonymPrefix) {
		t.Fatalf("it began with %+v", begun)
	}
	one(t, s, coupon.Duplicate, claimed("k2", "p-4711", "batch", at))
	execute(t, s, `delete from coupon_outbox`)
	done := erase(t, s, Erasure{ID: "p-4711"})
	if done.Waiting != 0 || done.Pseudonym != begun.Pseudonym || done.Moved != (Moved{}) || len(done.Texts) == 0 {
		t.Errorf("it ended with %+v", done)
	}
	for _, id := range []string{"p-4711", "ann@x.org", "nobody"} {
		if again := erase(t, s, Erasure{ID: id}); again.Found() {
			t.Errorf("%s is still in %+v", id, again)
		}
	}
	if p := personOf(t, s, done.Pseudonym); p.Coupons[coupon.Locked] != 1 || len(p.Aliases) != 0 {
		t.Errorf("the pseudonym has %+v", p)
	}
	one(t, s, coupon.Redeemed, request("p1", at, paid("o1")))
	one(t, s, coupon.OK, claimed("k3", "p-4711", "batch", at))
	rows, err := s.AuditLog(t.Context(), coupon.AuditFilter{Action: "ErasePerson"})
	if err != nil || len(rows) != 2 || rows[0].Code != "DONE" || rows[0].Subject != done.Pseudonym ||
		rows[1].Reason != "asked by "+done.Pseudonym+", ticket 5" {
		t.Errorf("the audit log has %+v: %v", rows, err)
	}
	proveAll(t, s)
	wrongCounters(t, s)
}

// TestNobodyBecomesWhoIsBeingErased: neither does who is being erased become somebody else.
func TestNobodyBecomesWhoIsBeingErased(t *testing.T) {
	s := campaigns(t)
	at := now(t, s)
	link(t, s, "ann@x.org", "p-4711")
	one(t, s, coupon.OK, claimed("k1", "p-4711", "", at))
	one(t, s, coupon.OK, claimed("k2", "bob", "", at))
	if begun := erase(t, s, Erasure{ID: "p-4711"}); begun.Waiting == 0 {
		t.Fatalf("it did not wait: %+v", begun)
	}
	for _, pair := range [][2]string{{"bob", "p-4711"}, {"bob", "Ann@x.org"}, {"p-4711", "bob"}, {"ann@x.org", "p-4711"}} {
		_, err := s.Link(t.Context(), Link{Alias: pair[0], Person: pair[1], Actor: "op"})
		if !errors.Is(err, ErrNoPerson) || strings.Contains(err.Error(), pseudonymPrefix) {
			t.Errorf("linking %q to %q: %v", pair[0], pair[1], err)
		}
	}
	if p := personOf(t, s, "bob"); p.ID != "bob" || p.Coupons[coupon.Available] != 1 {
		t.Errorf("bob is %+v", p)
	}
}

// TestHashesOfAnErasedPersonAreReplaced: by that of the pseudonym, by which the counter is
// still found, and in no text is there that of any id any more.
func TestHashesOfAnErasedPersonAreReplaced(t *testing.T) {
	s := open(t)
	counted(t, s)
	link(t, s, "ann@x.org", "ann")
	execute(t, s, `update claim_counter set claimed = claimed + 1, held = held + 1 where person_id in ('ann', 'bob')`)
	if summary, found := reconciled(t, s, repairing(t, s)); len(found) != 1 || summary.Repaired != 1 {
		t.Fatalf("found %v, repaired %+v", found, summary)
	}
	texts := func() string {
		return scalar[string](t, s, `select concat((select string_agg(detail::text, ' ') from audit_log),
			(select string_agg(detail, ' ') from finding))`)
	}
	hash := func(id string) string { return coupon.HashPerson(id) }
	before := texts()
	if strings.Count(before, hash("ann")) < 3 {
		t.Fatalf("no hash to replace in %s", before)
	}
	execute(t, s, `delete from coupon_outbox`)
	if would := erase(t, s, Erasure{ID: "ann@x.org", DryRun: true}); len(would.Texts) != 3 { // with the link's own row
		t.Errorf("it would erase from %+v", would.Texts)
	}
	done := erase(t, s, Erasure{ID: "ann@x.org"})
	after := texts()
	for _, id := range []string{"ann", "ann@x.org"} {
		if strings.Contains(after, hash(id)) {
			t.Errorf("the hash of %s is still in %s", id, after)
		}
	}
	for id, want := range map[string]string{"ann": done.Pseudonym, "bob": "bob"} {
		if strings.Count(after, hash(want)) != strings.Count(before, hash(id)) {
			t.Errorf("that of %s is not everywhere in %s", want, after)
		}
	}
	if again := erase(t, s, Erasure{ID: "ann"}); again.Found() {
		t.Errorf("still in %+v", again)
	}
}

// TestLettersOfAnErasedPerson: the hash follows the body, but never makes two letters one.
func TestLettersOfAnErasedPerson(t *testing.T) {
	s := open(t)
	insert := func(n int, body string, size int) {
		hash := sha256.Sum256([]byte(body))
		execute(t, s, `
			insert into dead_letter (dead_letter_id, message_id, queue, kind, reason, error, fingerprint, host,
				service_version, attempts, first_failed_at, last_failed_at, exchange, routing_key, content_type,
				correlation_id, reply_to, headers, body_hash, body_size, body)
			values ($1, 'm', 'q', 'k', 'r', 'customer p-4711 is unknown', 'f', '', '', 1, now(), now(), '', '', '', '', '',
				'{"cloudEvents:subject": "p-4711"}', $2, $3, $4)`,
			fmt.Sprintf("00000000-0000-7000-8000-%012d", n), hash[:], size, []byte(body))
	}
	whole, spaced, part := `{"customerId":"p-4711"}`, `{"customerId":" p-4711"}`, `{"customerId":"p-4711", "cou`
	insert(1, whole, len(whole))
	insert(2, spaced, len(spaced))
	insert(3, part, 5000)
	done := erase(t, s, Erasure{ID: "p-4711"})
	want := `{"customerId":"` + done.Pseudonym + `"}`
	hash := sha256.Sum256([]byte(want))
	if n := scalar[int](t, s, `select count(*) from dead_letter where body = $1 and body_size = octet_length(body)`,
		[]byte(want)); n != 2 {
		t.Errorf("%d letters have the body with the pseudonym, want 2", n)
	}
	if n := scalar[int](t, s, `select count(*) from dead_letter where body_hash = $1`, hash[:]); n != 1 {
		t.Errorf("%d letters have its hash, want 1", n)
	}
	before := sha256.Sum256([]byte(part))
	if kept := scalar[[]byte](t, s, `select body_hash from dead_letter where body_size > octet_length(body)`); !bytes.Equal(kept, before[:]) {
		t.Error("a letter that is kept in part has a hash that was never its message's")
	}
	for _, column := range []string{"error", "headers::text"} {
		if n := scalar[int](t, s, `select count(*) from dead_letter where strpos(`+column+`, $1) > 0`, done.Pseudonym); n != 3 {
			t.Errorf("%d of 3 letters have the pseudonym in %s", n, column)
		}
	}
}

// TestAppendOnlyTablesLetAnErasureThroughAndNothingElse: not even an erasure changes what
// was done, and no other transaction changes a text.
func TestAppendOnlyTablesLetAnErasureThroughAndNothingElse(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("t"), "C1")
	for statement, says := range map[string]string{
		`update coupon_operation set actor = 'x'`: "is append-only: UPDATE refused",
		`select set_config('couponlease.erasing', 'audit_log', true);
			update coupon_operation set actor = 'x'`: "is append-only: UPDATE refused",
		`select set_config('couponlease.erasing', 'coupon_operation', true);
			update coupon_operation set to_state = 'USED'`: "an erasure may change actor, reason alone",
		`select set_config('couponlease.erasing', 'coupon_operation', true); delete from coupon_operation`: "DELETE refused",
		`select set_config('couponlease.erasing', 'coupon_operation', true); truncate coupon_operation`:    "TRUNCATE refused",
		`select erase_text('coupon_operation', 'to_state', ctid::text, convert_to(to_state, 'UTF8'), 'USED')
			from coupon_operation`: "an erasure may change actor, reason alone",
		`select erase_text('coupon_operation', 'actor', '(0,1)', '', '');
			update coupon_operation set actor = 'x'`: "is append-only: UPDATE refused",
	} {
		_, err := connection(t, s).PgConn().Exec(t.Context(), statement).ReadAll()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
