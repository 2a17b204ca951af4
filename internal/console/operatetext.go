package console

import (
	"io"
	"strings"
)

// WriteText prints one property a line.
func (r CommandResult) WriteText(w io.Writer) error {
	out := lines{w: w}
	if r.Repeated {
		out.addf("repeated    a command with this key was answered at %s; this is that answer", clockTime(r.AnsweredAt))
	}
	if r.Accepted {
		out.addf("done        %s %s", r.Command, r.Outcome)
	} else {
		out.addf("refused     %s %s; nothing was changed", r.Command, r.Outcome)
	}
	if r.CouponID != "" {
		stands := ""
		if r.State != "" {
			stands = " is " + string(r.State) + ", version " + thousands(r.Version)
		}
		out.addf("coupon      %s%s", r.CouponID, stands)
	}
	if r.OrderID != "" {
		out.addf("order       %s", r.OrderID)
	}
	for _, refusal := range r.Refusals {
		out.addf("            %s", strings.TrimSuffix(refusal.CouponID+": "+string(refusal.Code)+": "+refusal.Next, ": "))
	}
	if r.LeaseID != "" {
		until := ""
		if !r.Deadline.IsZero() {
			until = " until " + clockTime(r.Deadline)
		}
		out.addf("lease       %s%s", r.LeaseID, until)
	}
	if r.Operation != "" {
		out.addf("operation   %s", r.Operation)
	}
	out.addf("key         %s", r.Key)
	if r.LeaseToken != "" {
		out.addf("token       %s", string(r.LeaseToken)) // formatted as a Token it would hide
	}
	if r.Next != "" {
		out.addf("next        %s", r.Next)
	}
	return out.err
}
