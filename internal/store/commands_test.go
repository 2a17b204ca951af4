package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/testkit"
)

// command wraps a command in a message of its own, under a key.
func command(key string, at time.Time, fact coupon.Command) coupon.Request {
	r := request("message of "+key, at, fact)
	r.Key, r.Hash = key, sha256.Sum256(fmt.Appendf(nil, "%T %+v", fact, fact))
	return r
}

// held is the token's hash of a coupon's lease.
func held(t testing.TB, s *Store, couponID string) coupon.TokenHash {
	t.Helper()
	h, found, err := s.History(t.Context(), couponID)
	if err != nil || !found || h.Coupon.Lease == nil {
		t.Fatalf("coupon %s has no lease: %+v, %v", couponID, h.Coupon, err)
	}
	return h.Coupon.Lease.TokenHash
}

// TestHotCoupon: however many commands of a batch are about one coupon, its row is
// written once.
func TestHotCoupon(t *testing.T) {
	const pairs = 50
	ids := &countingSource{}
	s := open(t, func(o *Options) { o.Source = ids.source() })
	issue(t, s, unlimited("summer"), "C1")
	execute(t, s, `create table written (what text)`)
	execute(t, s, `create function note() returns trigger language plpgsql as
		'begin insert into written values (tg_table_name); return null; end'`)
	for _, table := range []string{"user_coupon", "coupon_operation", "coupon_command"} {
		execute(t, s, "create trigger note after insert or update on "+table+" for each row execute function note()")
	}
	at := now(t, s)
	var requests []coupon.Request
	for i := range pairs {
		token := coupon.HashToken(fmt.Sprintf("A/c1/%d", i+1)) // as the source draws it
		requests = append(requests,
			command(name("lock", i), at, coupon.LockCoupon{Coupon: "c1", Order: "A"}),
			command(name("release", i), at, coupon.ReleaseLease{Coupon: "c1", Token: token}))
	}
	for i, outcome := range apply(t, s, requests...) {
		if outcome.Code != coupon.OK || outcome.Answer.Version != int64(2+i) {
			t.Fatalf("command %d: %+v, at version %d", i, outcome, outcome.Answer.Version)
		}
	}
	written := map[string]int64{}
	for _, table := range []string{"user_coupon", "coupon_operation", "coupon_command"} {
		written[table] = scalar[int64](t, s, `select count(*) from written where what = $1`, table)
	}
	want := map[string]int64{"user_coupon": 1, "coupon_operation": 2 * pairs, "coupon_command": 2 * pairs}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("rows written (-want +got):\n%s", diff)
	}
	h, _, err := s.History(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	if violations := coupon.Check(h); len(violations) > 0 || h.Coupon.Version != 1+2*pairs || len(h.Leases) != pairs {
		t.Errorf("at version %d with %d leases: %v", h.Coupon.Version, len(h.Leases), violations)
	}
}

// statements notes what is sent in batches.
type statements struct {
	mutex sync.Mutex
	sent  []string
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sent = append(s.sent, data.SQL)
}

// traced gives a store whose statements are noted.
func traced(t *testing.T, s *Store) (*Store, *statements) {
	t.Helper()
	noted := &statements{}
	config := s.pool.Config()
	config.ConnConfig.Tracer = noted
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &Store{pool: pool, options: s.options, policies: map[int64]policy.Policy{}}, noted
}

// TestNobodyPaysForWhatOthersNeed: facts cause no statement about commands, and
// commands none about the inbox.
func TestNobodyPaysForWhatOthersNeed(t *testing.T) {
	s, noted := traced(t, open(t))
	issue(t, s, unlimited("summer"), "C1", "C2")
	at := now(t, s)
	forCommands := []string{insertAnswersSQL, insertFlowsSQL, readAnswersSQL, readLastsSQL, appearedOrdersSQL}
	forFacts := []string{readReceiptsSQL, insertReceiptsSQL}
	for name, test := range map[string]struct {
		requests       []coupon.Request
		needs, without []string
	}{
		"facts": {
			[]coupon.Request{request("m1", at, placed("o1", "c1")), request("m2", at, paid("o1"))}, forFacts, forCommands,
		},
		"commands": {
			[]coupon.Request{
				command(coupon.RedeemNumber("1"), at, coupon.RedeemRequested{Coupon: "c2", Request: "1"}),
				command("k1", at, coupon.ReverseChange{Coupon: "c2"}),
				command("k2", at, coupon.RedeemCoupon{Coupon: "c2", Order: coupon.RedeemNumber("1")}),
			}, forCommands, forFacts,
		},
	} {
		t.Run(name, func(t *testing.T) {
			noted.sent = nil
			apply(t, s, test.requests...)
			for _, statement := range test.needs {
				if !slices.Contains(noted.sent, statement) {
					t.Errorf("did not send %s", statement)
				}
			}
			for _, statement := range test.without {
				if slices.Contains(noted.sent, statement) {
					t.Errorf("sent %s", statement)
				}
			}
		})
	}
}

// TestOrderAppearsBeforeItsCouponIsRedeemed: an order takes a quote's lease over while
// a command that saw no such order waits for the coupon. Redeeming is a matter of money
// by then.
func TestOrderAppearsBeforeItsCouponIsRedeemed(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1")
	at := now(t, s)
	one(t, s, coupon.OK, command("k1", at, coupon.LockCoupon{Coupon: "c1", Order: "A"}))
	token := held(t, s, "c1")
	order := placed("A", "c1")
	order.Wanted[0].Token = &token
	places := []coupon.Request{request("m1", at, order)}
	redeems := []coupon.Request{command("k2", at, coupon.RedeemCoupon{Coupon: "c1", Order: "A", Token: token})}
	answer := make(chan coupon.Outcome, 1)
	var outcomes []coupon.Outcome
	err := s.Apply(t.Context(), places, func(w *coupon.World) {
		go func() {
			var outcomes []coupon.Outcome
			if err := s.Apply(t.Context(), redeems, decideAll(redeems, &outcomes)); err != nil {
				t.Error(err)
			}
			answer <- append(outcomes, coupon.Outcome{})[0]
		}()
		testkit.Eventually(t, time.Minute, "the command waits for the coupon", func() (bool, string) {
			waiting := scalar[int](t, s, `select count(*) from pg_stat_activity
				where application_name = $1 and wait_event_type = 'Lock'`, t.Name())
			return waiting == 1, fmt.Sprint(waiting, " sessions wait")
		})
		decideAll(places, &outcomes)(w)
	})
	if err != nil || outcomes[0].Code != coupon.OK {
		t.Fatalf("placed: %+v, %v", outcomes, err)
	}
	if got, want := <-answer, coupon.IllegalState(coupon.Locked); got.Code != want {
		t.Errorf("redeemed: %+v, want %s", got, want)
	}
}

// TestRedeemOfASplitOrder: a command looks at one part and gets the whole group.
func TestRedeemOfASplitOrder(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1")
	at := now(t, s)
	for _, id := range []string{"part-1", "part-2"} {
		part := placed(id, "c1")
		part.Parent = "whole"
		apply(t, s, request("place "+id, at, part))
	}
	redeem := coupon.RedeemCoupon{Coupon: "c1", Order: "part-2", Token: held(t, s, "c1"), Payment: "receipt"}
	one(t, s, coupon.OK, command("k1", at, redeem))
	o, err := s.Order(t.Context(), "whole")
	if err != nil || len(o.Named) != 1 || o.Named[0].RedemptionID == "" {
		t.Errorf("the whole order remembers %+v: %v", o.Named, err)
	}
}

// TestRedeemNumberIsTakenOnce: a till's request without its key cannot be told from
// another, but never begins a second time.
func TestRedeemNumberIsTakenOnce(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1", "C2")
	r := request("m1", now(t, s), coupon.RedeemRequested{Coupon: "c1", Request: "1"})
	one(t, s, coupon.OK, r)
	r.Fact = coupon.RedeemRequested{Coupon: "c2", Request: "1"}
	err := refused(t, s, batcher.Poison, r)
	if !strings.Contains(err.Error(), "redeem_flow_pkey") {
		t.Errorf("got %v", err)
	}
}

func TestTimelineTellsCommands(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1", "C2", "C3")
	at := now(t, s)
	scan := coupon.RedeemRequested{Coupon: "c1", Request: "1"}
	one(t, s, coupon.OK, command(coupon.RedeemNumber("1"), at, scan))
	scan.Request = "2"
	one(t, s, coupon.AlreadyLocked, command(coupon.RedeemNumber("2"), at, scan))
	one(t, s, coupon.OK, command("release", at, coupon.ReleaseLease{Coupon: "c1", Token: held(t, s, "c1")}))
	one(t, s, coupon.OK, request("place", at, placed("o1", "c1")))
	swap := coupon.SwapCoupons{Order: "o1", Drop: []string{"c1"}, Add: []coupon.Wanted{{Coupon: "c2"}}}
	one(t, s, coupon.OK, command("swap", at.Add(time.Second), swap))
	one(t, s, coupon.OK, command("other", at, coupon.LockCoupon{Coupon: "c3", Order: "o1"})) // another story

	line, _, err := s.Timeline(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range line.Moments {
		switch {
		case m.Command != nil:
			told = append(told, fmt.Sprint(m.Kind, " ", m.Command.Kind, " ", m.Command.Code))
		case m.Flow != nil:
			told = append(told, fmt.Sprint(m.Kind, " ", m.Order, " ", m.Flow.Step, " ", m.Flow.Code))
		case m.Operation != nil:
			told = append(told, fmt.Sprint(m.Kind, " ", m.Operation.Operation))
		}
	}
	want := []string{
		"OPERATION ISSUE",
		"COMMAND RedeemRequested OK", "OPERATION LOCK", "FLOW RD1 PROCESSING ",
		"COMMAND RedeemRequested ALREADY_LOCKED", "FLOW RD2 PROCESSING ", "FLOW RD2 REJECTED ALREADY_LOCKED",
		"COMMAND ReleaseLease OK", "OPERATION RELEASE", "FLOW RD1 RELEASED ",
		"OPERATION LOCK",
		"COMMAND SwapCoupons OK", "OPERATION RELEASE",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	counts, err := s.Counts(t.Context(), 0)
	if err != nil || counts.Commands != 5 || counts.OpenFlows != 0 {
		t.Errorf("%d commands, %d open flows: %v", counts.Commands, counts.OpenFlows, err)
	}
	one(t, s, coupon.OK, command(coupon.RedeemNumber("3"), at, coupon.RedeemRequested{Coupon: "c1", Request: "3"}))
	if counts, err = s.Counts(t.Context(), 0); err != nil || counts.Commands != 6 || counts.OpenFlows != 1 {
		t.Errorf("%d commands, %d open flows: %v", counts.Commands, counts.OpenFlows, err)
	}
}

// TestAnswersAreWrittenInTheOrderOfKeys: two that write the same keys wait for each
// other in one order.
func TestAnswersAreWrittenInTheOrderOfKeys(t *testing.T) {
	rows, err := encodeAnswers([]*coupon.Answer{{Key: "b"}, {Key: "a"}, {Key: "B"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{texts{"B", "a", "b"}}, answerColumns(rows)[:1]); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// TestAnswersAreFoundInBigTables: those who read outside of Apply get the plans that
// the statistics suggest.
func TestAnswersAreFoundInBigTables(t *testing.T) {
	s := open(t)
	execute(t, s, `
		insert into coupon_command (idempotency_key, version, occurred_at, done_at, request_hash, kind, coupon_id,
			order_id, status, code, state, cause_id, actor)
		select 'k' || n, 0, now(), now(), '', 'LockCoupon', case n % 10 when 0 then '' else 'c' || n / 3 end, 'o' || n / 3,
			'REFUSED', 'VOIDED', '', '', '' from generate_series(1, 20000) n`)
	execute(t, s, `
		insert into redeem_flow (redeem_no, stage, at, request_id, step, coupon_id, code, reason, payment_id, cause_id)
		select 'RD' || n, 0, now(), n, 'PROCESSING', 'c' || n / 3, '', '', '', '' from generate_series(1, 20000) n`)
	execute(t, s, `analyze coupon_command, redeem_flow`)
	for name, test := range map[string]struct {
		query, index string
		args         []any
	}{
		"answer":   {readAnswersSQL, "coupon_command_pkey", []any{[]string{"k7"}}},
		"flow":     {readFlowSQL, "redeem_flow_pkey", []any{"RD7"}},
		"of one":   {timelineCommandsSQL, "coupon_command_coupon", []any{"c7", []string{"o7", "o8"}, 100}},
		"of order": {timelineCommandsSQL, "coupon_command_order", []any{"c7", []string{"o7", "o8"}, 100}},
		"steps":    {timelineFlowsSQL, "redeem_flow_coupon", []any{"c7", 100}},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := s.pool.Query(t.Context(), "explain (costs off) "+test.query, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			plan := strings.Join(lines, "\n")
			if tableScan.MatchString(plan) || !strings.Contains(plan, test.index) {
				t.Errorf("%s", plan)
			}
		})
	}
}
