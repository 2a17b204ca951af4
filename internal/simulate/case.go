package simulate

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Case is one acceptance case: a situation, what is done, and what has to hold.
type Case struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Setup    Setup  `json:"setup"`
	Sequence []Step `json:"sequence"`
	Right    struct {
		Assert map[string]json.RawMessage `json:"assert"`
	} `json:"right"`

	// invalid is why the line could not be read; such a case fails when it runs,
	// and the others still run.
	invalid error
}

// Setup is the world before the first step. What it does not say has defaults;
// what it says beyond this is ignored.
type Setup struct {
	T0        *Instant                 `json:"t0"`
	Templates map[string]TemplateSetup `json:"templates"`
	Coupons   *map[string]CouponSetup  `json:"coupons"`
	Config    ConfigSetup              `json:"config"`
	Identity  map[string]string        `json:"identity"`
	// RedisLoaded says whether the pool has the stocks of the templates; it has if absent.
	RedisLoaded *bool `json:"redisLoaded"`
}

// TemplateSetup describes a template; a nil limit does not exist.
type TemplateSetup struct {
	Total       *int64          `json:"total"`
	PerUser     *int64          `json:"perUser"`
	PerDay      *int64          `json:"perDay"`
	PerUserUses *int64          `json:"perUserUses"`
	Budget      *int64          `json:"budget"`
	Until       json.RawMessage `json:"until"`
	Days        int             `json:"days"`
	TZ          string          `json:"tz"`
	Status      string          `json:"status"`
	Policy      PolicySetup     `json:"policy"`
}

// PolicySetup is a return policy; "" takes the default of each rule.
type PolicySetup struct {
	Full       string `json:"full"`
	Partial    string `json:"partial"`
	Chargeback string `json:"chargeback"`
	Expired    string `json:"expired"`
	BudgetBack bool   `json:"budgetBack"`
}

// CouponSetup describes a coupon. The owner is u1 if absent and nobody if null,
// the validity is the template's if absent.
type CouponSetup struct {
	Owner    json.RawMessage `json:"owner"`
	Template string          `json:"template"`
	From     *Instant        `json:"from"`
	Until    *Instant        `json:"until"`
}

// ConfigSetup changes the rules.
type ConfigSetup struct {
	Stacking   string `json:"stacking"`
	OrderLease *int64 `json:"orderLease"`
	QuoteLease *int64 `json:"quoteLease"`
	// RenewCap is how long after its validity a coupon may stay leased.
	RenewCap *int64 `json:"renewCap"`
}

// Step is one thing done. Fields that an operation does not use stay empty.
type Step struct {
	Do         string          `json:"do"`
	T          *Instant        `json:"t"`
	OccurredAt *Instant        `json:"occurredAt"`
	Par        string          `json:"par"`
	Times      int             `json:"times"`
	Fault      string          `json:"fault"`
	EventID    string          `json:"eventId"`
	Order      string          `json:"order"`
	Customer   *string         `json:"customer"`
	Coupons    []string        `json:"coupons"`
	Payable    *int64          `json:"payable"`
	Lease      json.RawMessage `json:"lease"`
	Token      string          `json:"token"`
	Supersedes string          `json:"supersedes"`
	Parent     string          `json:"parent"`
	Revision   int64           `json:"revision"`
	Payment    string          `json:"payment"`
	Amount     *int64          `json:"amount"`
	Discounted *bool           `json:"discounted"`
	Discount   int64           `json:"discount"`
	Reason     string          `json:"reason"`
	Refund     string          `json:"refund"`
	Fact       string          `json:"fact"`
	Codes      []string        `json:"codes"`
	Template   string          `json:"template"`
	Set        json.RawMessage `json:"set"`

	// Of commands.
	Coupon          string          `json:"coupon"`
	TTL             json.RawMessage `json:"ttl"`
	Key             string          `json:"key"`
	Request         string          `json:"request"`
	Drop            []string        `json:"drop"`
	Add             []string        `json:"add"`
	Force           bool            `json:"force"`
	ExpectedVersion int64           `json:"expectedVersion"`

	// OrderEvidence is what another system says of orders, by name: PAID or CLOSED.
	OrderEvidence json.RawMessage `json:"orderEvidence"`
}

// Instant is a time of a case: seconds after its start, or an ISO instant.
type Instant struct {
	seconds  float64
	absolute time.Time
}

// UnmarshalJSON reads a number or an ISO text; a text without a zone is UTC.
func (i *Instant) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, &i.seconds)
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			i.absolute = at.UTC()
			return nil
		}
	}
	return fmt.Errorf("instant %q: want seconds or an RFC 3339 time", text)
}

// From gives the instant in a case that starts at t0.
func (i Instant) From(t0 time.Time) time.Time {
	if !i.absolute.IsZero() {
		return i.absolute
	}
	return t0.Add(time.Duration(i.seconds * float64(time.Second)))
}

// maxCaseLine bounds one line of a case file.
const maxCaseLine = 4 << 20

// ReadCases reads one case a line; blank lines are skipped. A line that is not a
// case becomes one that fails and says why.
func ReadCases(source io.Reader) ([]Case, error) {
	scanner := bufio.NewScanner(source)
	scanner.Buffer(make([]byte, 64<<10), maxCaseLine)
	var cases []Case
	for line := 1; scanner.Scan(); line++ {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) > 0 {
			cases = append(cases, readCase(text, fmt.Sprintf("line %d", line)))
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	return cases, nil
}

func readCase(text []byte, place string) Case {
	var c Case
	if err := json.Unmarshal(text, &c); err != nil {
		c.invalid = fmt.Errorf("%s: %w", place, err)
	}
	c.ID = cmp.Or(c.ID, place)
	return c
}
