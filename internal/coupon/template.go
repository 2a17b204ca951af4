package coupon

import "time"

// TemplateStatus says what a template still allows.
type TemplateStatus string

const (
	TemplateActive TemplateStatus = "ACTIVE"
	// TemplatePaused stops claims, TemplateDown ("OFFLINE") also new leases and batches;
	// running leases are honoured in both.
	TemplatePaused TemplateStatus = "PAUSED"
	TemplateDown   TemplateStatus = "OFFLINE"
)

// NoLimit is the value of a limit that does not exist.
const NoLimit int64 = -1

// DiscountKind says how a coupon makes an order cheaper.
type DiscountKind string

const (
	// AmountOff takes a sum off an order of at least so much, NoThreshold off any order.
	AmountOff   DiscountKind = "AMOUNT_OFF"
	NoThreshold DiscountKind = "NO_THRESHOLD"
	// PercentOff takes a share off.
	PercentOff DiscountKind = "PERCENT_OFF"
)

// Discount is what a coupon is worth. The shop computes with it; here it is only kept,
// and told with each coupon issued.
type Discount struct {
	// Kind is "" where nothing was said.
	Kind DiscountKind `json:"kind,omitempty"`
	// Amount and MinSpend are in minor units of Currency, an ISO 4217 code.
	Amount   int64  `json:"amount,omitempty"`
	Currency string `json:"currency,omitempty"`
	MinSpend int64  `json:"minSpend,omitempty"`
	// BasisPoints are hundredths of a percent: 2000 is 20 percent off.
	BasisPoints int64 `json:"basisPoints,omitempty"`
}

// Terms are what people say about a template, and may change. Each change makes a new
// version; coupons keep what they were issued under.
type Terms struct {
	Name     string         `json:"name"`
	Discount Discount       `json:"discount"`
	Status   TemplateStatus `json:"status"`
	// Total is how many coupons claims and batches may issue, PerPerson how many one
	// person may claim in all and PerDay in one day of the template's zone; NoLimit is
	// none.
	Total     int64 `json:"total"`
	PerPerson int64 `json:"perPerson"`
	PerDay    int64 `json:"perDay"`
	// Budget limits the uses (leases and redemptions held now) of all coupons,
	// UsesPerPerson those of one person; NoLimit is none.
	Budget        int64 `json:"budget"`
	UsesPerPerson int64 `json:"usesPerPerson"`
	PolicyVersion int64 `json:"policyVersion"`
	// ValidFrom and ValidUntil bound claims and the coupons' validity; zero is no bound.
	// With ValidDays a coupon ends at the same local time so many days after its issue,
	// if that is earlier.
	ValidFrom  time.Time `json:"validFrom,omitzero"`
	ValidUntil time.Time `json:"validUntil,omitzero"`
	ValidDays  int       `json:"validDays,omitempty"`
	// Zone is the IANA name in which local days count; "" is UTC.
	Zone string `json:"zone,omitempty"`
	// Transferable lets somebody other than the owner use the coupon.
	Transferable bool `json:"transferable,omitempty"`
}

// Template is what a family of coupons has in common.
type Template struct {
	ID      string
	Version int64
	Terms
	// Held is the number of uses that count against Budget now, Issued the number of
	// coupons that claims and batches have issued, Imported that of all others.
	Held, Issued, Imported int64
	// Generation counts the stocks that were made of Total, PerPerson and PerDay for the
	// pool in front of the engine, from 1. ToldSoldOut is the one of which it was
	// announced that nothing is left.
	Generation, ToldSoldOut int64
	// HeldMost is how much Held may be although Budget is less, because an edit lowered
	// it, and UsesMost the highest that UsesPerPerson ever was.
	HeldMost, UsesMost int64
}

// Limited says whether uses of the template are counted, so that its row has
// to be locked.
func (t *Template) Limited() bool { return t.Budget != NoLimit || t.UsesPerPerson != NoLimit }

// Rationed says whether claims of the template are limited, so that a pool is of use.
func (t *Template) Rationed() bool {
	return t.Total != NoLimit || t.PerPerson != NoLimit || t.PerDay != NoLimit
}

// Left is how many coupons may still be issued by claims and batches, or NoLimit.
func (t *Template) Left() int64 {
	if t.Total == NoLimit {
		return NoLimit
	}
	return max(0, t.Total-t.Issued)
}

// TemplateVersion is the evidence of what a template said at a time.
type TemplateVersion struct {
	Template string
	Version  int64
	Terms    Terms
	Actor    string
	Cause    string
	At       time.Time
}

// Unlimited are terms without any limit, under the default return policy.
func Unlimited() Terms {
	return Terms{
		Status: TemplateActive, Total: NoLimit, PerPerson: NoLimit, PerDay: NoLimit, Budget: NoLimit,
		UsesPerPerson: NoLimit,
	}
}

// TemplateChange is the final row of one template, as it was read in Base; nil inserts.
type TemplateChange struct{ Base, Row *Template }

// Claims counts what one person has claimed of one template.
type Claims struct {
	Template, Person string
	// Count is how many in all, OnDay how many on Day, the latest local day with a
	// claim, such as "2026-03-01".
	Count int64
	Day   string
	OnDay int64
}

// Origin is how a coupon came into being.
type Origin string

const (
	// OriginImport: its code existed before, or an operator gave it; it does not count
	// against Total.
	OriginImport Origin = "IMPORT"
	// OriginClaim: its owner claimed it. OriginBatch: it was issued to its owner.
	OriginClaim Origin = "CLAIM"
	OriginBatch Origin = "BATCH"
)
