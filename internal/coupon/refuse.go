package coupon

// claim is one order's wish for one coupon while a placement is judged.
type claim struct {
	order, customer string
	token           *TokenHash
	// from is the order whose lease or redemption may be taken over; "" is none.
	from string
	// honoured skips what only stops new leases: the order has been paid, and
	// its coupon is recovered.
	honoured bool
}

// tally counts uses that the same request has taken or freed so far, so that
// several coupons of one order are judged together.
type tally struct {
	budget map[string]int64
	person map[usesKey]int64
}

func newTally() tally {
	return tally{budget: map[string]int64{}, person: map[usesKey]int64{}}
}

func (t tally) add(c *Coupon, n int64) {
	t.budget[c.Template] += n
	t.person[usesKey{c.Template, c.Owner}] += n
}

// refuse gives the first reason, in the order of Precedence, why the claim
// cannot have the coupon; "" when it can. Duplicates are the caller's question.
func (w *World) refuse(c *Coupon, wish claim, taken tally) Code {
	if c == nil {
		return UnknownCoupon
	}
	if code := refuseState(c, wish); code != "" {
		return code
	}
	if t := w.templates[c.Template]; t == nil || !t.Transferable {
		if c.Owner != "" && wish.customer != "" && w.person(c.Owner) != wish.customer {
			return NotOwner
		}
	}
	return w.refuseTemplate(c, wish, taken)
}

func refuseState(c *Coupon, wish claim) Code {
	taken := wish.from != "" && (c.LeasedTo(wish.from) || c.UsedBy(wish.from))
	switch {
	case taken, c.State == Available:
		return ""
	case c.State == Locked && wish.token != nil:
		return refuseToken(c, wish)
	case c.State == Void:
		return Voided
	case c.State == Refunded:
		return AlreadyRefunded
	case c.State == Expired:
		return ExpiredState
	case c.State == Locked:
		return AlreadyLocked
	default:
		return AlreadyUsed
	}
}

// refuseToken: a token binds a quote lease to an order once; the lease of
// another order does not change hands by it, and that of a till never.
func refuseToken(c *Coupon, wish claim) Code {
	switch {
	case !c.Lease.TokenHash.equal(*wish.token):
		return TokenMismatch
	case c.Lease.Purpose == PurposeTill, c.Lease.Purpose == PurposeOrder && c.Lease.Order != wish.order:
		return AlreadyLocked
	default:
		return ""
	}
}

// moves says whether the coupon would change hands by a release first, which
// ends it when its validity is over.
func moves(c *Coupon, wish claim) bool {
	return wish.from != "" && wish.from != wish.order && (c.LeasedTo(wish.from) || c.UsedBy(wish.from))
}

func (w *World) refuseTemplate(c *Coupon, wish claim, taken tally) Code {
	t := w.templates[c.Template]
	held := c.State != Available // its use is counted already
	switch {
	case t != nil && t.Status == TemplateDown && !wish.honoured && !held:
		return TemplateOffline
	case !c.ValidFrom.IsZero() && w.Now.Before(c.ValidFrom):
		return NotStarted
	case c.Over(w.Now) && (!held || moves(c, wish)):
		return ExpiredState
	case t == nil || held:
		return ""
	}
	if t.UsesPerPerson != NoLimit && c.Owner != "" {
		key := usesKey{c.Template, c.Owner}
		if w.usesOf(key.template, key.person).Held+taken.person[key] >= t.UsesPerPerson {
			return UseLimitReached
		}
	}
	if t.Budget != NoLimit && t.Held+taken.budget[c.Template] >= t.Budget {
		return BudgetExhausted
	}
	return ""
}
