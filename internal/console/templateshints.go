package console

import (
	"fmt"

	"couponlease/internal/coupon"
)

// templateHint says what somebody can do whose command about a template was refused; t is
// the template as it is now.
func templateHint(kind string, code coupon.Code, t *coupon.Template, o TemplateOrder) string {
	switch code {
	case coupon.BelowIssued:
		return fmt.Sprintf("the campaign has issued %s already: choose a total of so many or more; "+
			"`couponctl templates pause %s` stops claims at once", count(t.Issued, "coupon"), t.ID)
	case coupon.NotCounted:
		return fmt.Sprintf("budget and uses per person cannot be introduced any more: nobody counted the uses of the %s "+
			"that there are; make a template with the limit from the start", count(t.Issued+t.Imported, "coupon"))
	case coupon.VersionConflict:
		return fmt.Sprintf("somebody changed the template meanwhile, it has version %d now: look at it with "+
			"`couponctl templates show %s` and ask again under a new key", t.Version, t.ID)
	case coupon.UnknownTemplate:
		return fmt.Sprintf("there is no template %s: `couponctl templates list` shows them, `couponctl templates create` "+
			"makes one", o.Template)
	case coupon.TemplateExists:
		return fmt.Sprintf("there is a template %s with other terms: `couponctl templates show %s` shows them, "+
			"`couponctl templates edit` changes them", o.Template, o.Template)
	case coupon.InvalidTerms:
		return fmt.Sprintf("together with the terms that stay these are impossible: "+
			"`couponctl templates show %s` shows them", o.Template)
	case coupon.UnknownPolicy:
		return "nobody defined this return policy: leave --policy-version out for the default one"
	default:
		return hint(kind, code)
	}
}
