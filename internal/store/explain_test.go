package store

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

var (
	indexUse   = regexp.MustCompile(`(?:Index Scan|Index Only Scan)(?: Backward)? using (\w+)|Bitmap Index Scan on (\w+)`)
	tableScan  = regexp.MustCompile(`Seq Scan on (\w+)`)
	partitions = regexp.MustCompile(`_(\d{8}|default)`)
	parameter  = regexp.MustCompile(`\$(\d+)`)
)

// TestHotStatementsUseTheirIndexes holds the shape of every statement of Apply that
// looks rows up: each by the index named, and no table read from end to end. The plans
// are those of empty tables without statistics, which is when the planner errs most.
func TestHotStatementsUseTheirIndexes(t *testing.T) {
	s := open(t)
	for name, test := range map[string]struct {
		statement string
		want      []string
	}{
		"lock orders":     {lockOrdersSQL, []string{"order_fact_pkey"}},
		"read named":      {readNamedSQL, []string{"order_coupon_pkey"}},
		"read refunds":    {readRefundsSQL, []string{"refund_fact_pkey"}},
		"read decided":    {readDecidedSQL, []string{"refund_coupon_pkey"}},
		"read templates":  {readTemplatesSQL, []string{"coupon_template_pkey", "order_coupon_pkey", "user_coupon_pkey"}},
		"lock templates":  {lockTemplatesSQL, []string{"coupon_template_pkey"}},
		"read claims":     {readClaimsSQL, []string{"claim_counter_pkey", "user_coupon_claim"}},
		"read batches":    {readBatchesSQL, []string{"user_coupon_claim"}},
		"read aliases":    {readAliasesSQL, []string{"person_alias_pkey"}},
		"admit uses":      {admitUsesSQL, []string{"coupon_template_pkey", "user_coupon_pkey"}},
		"lock uses":       {lockUsesSQL, []string{"claim_counter_pkey", "coupon_template_pkey", "user_coupon_pkey"}},
		"lock coupons":    {lockCouponsSQL, []string{"user_coupon_pkey"}},
		"read receipts":   {readReceiptsSQL, []string{"inbox_pkey"}},
		"update coupons":  {updateCouponsSQL, []string{"user_coupon_pkey"}},
		"update orders":   {updateOrdersSQL, []string{"order_fact_pkey"}},
		"update named":    {updateNamedSQL, []string{"order_coupon_pkey"}},
		"update template": {updateTemplatesSQL, []string{"coupon_template_pkey"}},
		"update uses":     {updateUsesSQL, []string{"claim_counter_pkey"}},
		"link orders":     {linkOrdersSQL, []string{"order_fact_pkey"}},
		"read answers":    {readAnswersSQL, []string{"coupon_command_pkey"}},
		"letter answers":  {lettersAnsweredSQL, []string{"coupon_command_pkey"}},
		"read lasts":      {readLastsSQL, []string{"coupon_operation_pkey", "coupon_redemption_pkey", "user_coupon_pkey"}},
		"appeared orders": {appearedOrdersSQL, []string{"order_fact_pkey"}},
		"read flow":       {readFlowSQL, []string{"redeem_flow_pkey"}},
		"open flows":      {openFlowsSQL, []string{"redeem_flow_pkey"}},
		"commands of one": {timelineCommandsSQL, []string{"coupon_command_coupon", "coupon_command_order"}},
		"flows of one":    {timelineFlowsSQL, []string{"redeem_flow_coupon"}},
		"of an order":     {orderCommandsSQL, []string{"coupon_command_order"}},
		"flows of orders": {orderFlowsSQL, []string{"redeem_flow_pkey"}},
		"audits of one":   {timelineAuditsSQL, []string{"audit_log_coupons", "audit_log_pkey", "audit_log_subject"}},
		"letters of one": {timelineLettersSQL, []string{
			"dead_letter_coupons", "dead_letter_message_id_queue_body_hash_key", "dead_letter_order", "dead_letter_pkey",
		}},
		"gate figures": {gateFiguresSQL, []string{
			"coupon_outbox_parked", "coupon_outbox_pending", "dead_letter_status", "lease_timer_far_pkey",
			"reconcile_run_finished", "user_coupon_pkey",
		}},
		"open findings":  {findingsOpenSQL, []string{"finding_open"}},
		"outbox pending": {outboxPendingSQL, []string{"coupon_outbox_pending", "outbox_lease_pkey"}},
		"outbox done":    {outboxDoneSQL, []string{"coupon_outbox_pkey", "outbox_lease_pkey"}},
		"page coupons":   {pageCouponsSQL, []string{"user_coupon_pkey"}},
		"range ledger":   {rangeOperationsSQL, []string{"coupon_operation_pkey"}},
		"waiting timers": {waitingTimersSQL, []string{"lease_timer_far_pkey", "user_coupon_pkey"}},
		"expirable":      {expirableSQL, []string{"user_coupon_issued_until"}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := explain(t, s, test.statement)
			if scans := tableScan.FindAllString(plan, -1); len(scans) > 0 {
				t.Errorf("reads whole tables: %s\n%s", scans, plan)
			}
			var used []string
			for _, match := range indexUse.FindAllStringSubmatch(plan, -1) {
				used = append(used, partitions.ReplaceAllString(match[1]+match[2], ""))
			}
			slices.Sort(used)
			if used = slices.Compact(used); !slices.Equal(used, test.want) {
				t.Errorf("uses %s, want %s\n%s", used, test.want, plan)
			}
		})
	}
}

// TestTimersAreReadByTheirKey: what is not due yet, or was passed before, is not even
// looked at.
func TestTimersAreReadByTheirKey(t *testing.T) {
	for name, statement := range map[string]string{"timers": dueTimersSQL, "validity": expirableSQL} {
		plan := explain(t, open(t), statement)
		bounds := regexp.MustCompile(`Index Cond: .* >= .* <= .*now\(\)`)
		if tableScan.MatchString(plan) || !bounds.MatchString(plan) {
			t.Errorf("%s: %s", name, plan)
		}
	}
}

// explain gives the generic plan of a statement under the settings of Apply.
func explain(t *testing.T, s *Store, statement string) string {
	t.Helper()
	conn := connection(t, s)
	if _, err := conn.Exec(t.Context(), beginSQL); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), settingsSQL); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "prepare p as "+statement, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	arguments := 0
	for _, match := range parameter.FindAllStringSubmatch(statement, -1) {
		var n int
		if _, err := fmt.Sscan(match[1], &n); err != nil {
			t.Fatal(err)
		}
		arguments = max(arguments, n)
	}
	call := "explain (costs off) execute p"
	if arguments > 0 {
		call += "(" + strings.TrimSuffix(strings.Repeat("null,", arguments), ",") + ")"
	}
	rows, err := conn.Query(t.Context(), call, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
