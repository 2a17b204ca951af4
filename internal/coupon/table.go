package coupon

// Transition is one edge of the state machine.
type Transition struct {
	Operation Operation
	From, To  State
	// Who may ask, for people and for the diagram.
	Who string
}

// Table is the state machine as data: an operation that is not here never
// happens. Where an operation has two ends, the validity of the coupon at the
// database's time decides.
func Table() []Transition {
	return []Transition{
		{Issue, None, Available, "claim, batch issue, import"},

		{Lock, Available, Locked, "order, quote, till"},
		{Renew, Locked, Locked, "lease owner"},
		{Redeem, Locked, Used, "lease owner with a payment, or nothing to pay"},
		{Release, Locked, Available, "lease owner, OrderClosed, lease expiry"},
		{Release, Locked, Expired, "the same, validity over"},

		{Expire, Available, Expired, "validity sweep"},

		{Return, Used, Available, "return policy"},
		{Return, Used, Expired, "return policy, validity over"},
		{Retire, Used, Refunded, "return policy"},
		{Reverse, Used, Available, "operator, supersession"},
		{Reverse, Used, Expired, "the same, validity over"},
		{Reverse, Void, Available, "operator"},
		{Reverse, Void, Used, "operator"},
		{Reverse, Void, Expired, "operator, validity over"},

		{Withdraw, Available, Void, "operator"},
		{Withdraw, Locked, Void, "operator with force"},
		{Withdraw, Used, Void, "return policy"},
	}
}

type edge struct {
	operation Operation
	from, to  State
}

var edges = func() map[edge]bool {
	set := map[edge]bool{}
	for _, t := range Table() {
		set[edge{t.Operation, t.From, t.To}] = true
	}
	return set
}()

// Allowed says whether the table has the edge.
func Allowed(operation Operation, from, to State) bool {
	return edges[edge{operation, from, to}]
}
