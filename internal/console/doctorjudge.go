package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// supported is which versions of a service the product works with.
type supported struct {
	service string
	// least is refused below; beyond most nobody has tried.
	least, most [2]int
}

// The versions. OPERATIONS.md names the least ones.
var (
	supportedPostgreSQL = supported{"PostgreSQL", [2]int{15, 0}, [2]int{18, 99}}
	supportedRabbitMQ   = supported{"RabbitMQ", [2]int{3, 10}, [2]int{4, 3}}
	supportedRedis      = supported{"Redis", [2]int{6, 0}, [2]int{8, 99}}
)

// judge says what is wrong with a version.
func (s supported) judge(version string) Diagnosis {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	is := [2]int{leadingNumber(major), max(0, leadingNumber(minor))}
	text := s.service + " " + version
	older := func(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }
	switch {
	case is[0] < 0:
		return Diagnosis{Severity: SeverityNote, Finding: s.service + " does not tell its version"}
	case older(is, s.least):
		return Diagnosis{Severity: SeverityError, Finding: fmt.Sprintf("%s is too old: %d.%d or later is needed", text,
			s.least[0], s.least[1]), Remedy: "upgrade " + s.service}
	case older(s.most, is):
		return Diagnosis{Severity: SeverityNote, Finding: text + " is newer than what this release was tried with"}
	default:
		return Diagnosis{Severity: SeverityOK, Finding: text}
	}
}

// leadingNumber is -1 where there is none.
func leadingNumber(text string) int {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if number, err := strconv.Atoi(text[:end]); err == nil {
		return number
	}
	return -1
}

// reading is one clock, read between two moments of this host.
type reading struct {
	clock, asked, answered time.Time
	// coarse is how much of the clock was cut off at most.
	coarse time.Duration
}

// offset is how far the clock is ahead of this host's, give or take.
func (r reading) offset() (ahead, giveOrTake time.Duration) {
	middle := r.asked.Add(r.answered.Sub(r.asked) / 2)
	return r.clock.Add(r.coarse / 2).Sub(middle), r.answered.Sub(r.asked)/2 + r.coarse/2
}

// clocks are those of the services; the database's judges deadlines.
type clocks struct {
	mu       sync.Mutex // guards what follows
	database *reading
	others   []namedReading
}

type namedReading struct {
	name string
	reading
}

func (c *clocks) setDatabase(r reading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.database = &r
}

func (c *clocks) add(name string, r reading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others = append(c.others, namedReading{name, r})
}

// How far apart clocks may be. Deadlines and validities are judged by the database's
// clock alone; those who ask for them look at their own.
const (
	skewToKnow = time.Second
	skewToMend = 30 * time.Second
)

// judge compares this host's and the services' clocks with the database's.
func (c *clocks) judge() (diagnoses []Diagnosis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.database == nil {
		return nil
	}
	database, sure := c.database.offset()
	compare := func(name string, ahead, giveOrTake time.Duration) {
		skew := ahead - database
		certain := skew.Abs() - giveOrTake - sure
		d := Diagnosis{Check: "clock of " + name, Severity: SeverityOK, Finding: "agrees with that of the database"}
		if certain > skewToKnow {
			word := "ahead of"
			if skew < 0 {
				word = "behind"
			}
			d.Severity = SeverityWarning
			d.Finding = fmt.Sprintf("%v %s that of the database", skew.Abs().Round(100*time.Millisecond), word)
			d.Remedy = "synchronise both hosts: `timedatectl` and `chronyc tracking` say how they do it"
		}
		if certain > skewToMend {
			d.Severity = SeverityError
		}
		diagnoses = append(diagnoses, d)
	}
	compare("this host", 0, 0)
	slices.SortFunc(c.others, func(a, b namedReading) int { return strings.Compare(a.name, b.name) })
	for _, other := range c.others {
		ahead, giveOrTake := other.offset()
		compare(other.name, ahead, giveOrTake)
	}
	return diagnoses
}

// tokens looks at what lease tokens are made from.
func (d *doctor) tokens(ctx context.Context) []Diagnosis {
	return d.examine(ctx, check{"token keys", func(context.Context) ([]Diagnosis, error) {
		_, configured, err := d.services.LeaseKeys()
		const remedy = "make one with `openssl rand -base64 32`, and give it to all replicas as COUPONLEASE_TOKEN_KEYS"
		switch {
		case err != nil:
			return []Diagnosis{{Severity: SeverityError, Finding: err.Error(), Remedy: remedy}}, nil
		case !configured:
			return []Diagnosis{{Severity: SeverityWarning, Finding: "there are none: each process draws its own, and answers " +
				"that another one publishes lack their tokens", Remedy: remedy}}, nil
		default:
			return []Diagnosis{{Severity: SeverityOK, Finding: "configured"}}, nil
		}
	}})
}
