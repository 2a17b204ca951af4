package simulate

import (
	"bufio"
	"bytes"
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
}

// Setup is the world before the first step.
type Setup struct {
	T0        Instant                  `json:"t0"`
	Templates map[string]TemplateSetup `json:"templates"`
	Coupons   *map[string]CouponSetup  `json:"coupons"`
	Config    ConfigSetup              `json:"config"`
	Identity  map[string]string        `json:"identity"`
}

// TemplateSetup describes a template; a nil limit does not exist.
type TemplateSetup struct {
	Total, PerUser, PerDay *int64
	PerUserUses, Budget    *int64
	Until                  json.RawMessage
	Days                   int
	TZ                     string
	Status                 string
	Policy                 PolicySetup
}

// PolicySetup is a return policy; "" takes the default of each rule.
type PolicySetup struct {
	Full, Partial, Chargeback, Expired string
	BudgetBack                         bool
}

// CouponSetup describes a coupon; the owner defaults to u1.
type CouponSetup struct {
	Owner    *string
	Template string
}

// ConfigSetup changes the rules.
type ConfigSetup struct {
	Stacking   string
	RenewCap   *int64
	OrderLease *int64
	QuoteLease *int64
}

// Step is one thing done. Fields that an operation does not use stay empty.
type Step struct {
	Do         string          `json:"do"`
	T          Instant         `json:"t"`
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
}

// Instant is a time of a case: seconds after its start, or an ISO instant.
type Instant struct {
	seconds  float64
	absolute time.Time
}

// UnmarshalJSON reads a number or an ISO text.
func (i *Instant) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return fmt.Errorf("instant %q: want seconds or an RFC 3339 time", text)
		}
		i.absolute = at.UTC()
		return nil
	}
	return json.Unmarshal(data, &i.seconds)
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

// ReadCases reads one case a line; blank lines are skipped.
func ReadCases(source io.Reader) ([]Case, error) {
	scanner := bufio.NewScanner(source)
	scanner.Buffer(make([]byte, 64<<10), maxCaseLine)
	var cases []Case
	for line := 1; scanner.Scan(); line++ {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		var c Case
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if c.ID == "" || len(c.Sequence) == 0 {
			return nil, fmt.Errorf("line %d: a case needs an id and a sequence", line)
		}
		cases = append(cases, c)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	return cases, nil
}
