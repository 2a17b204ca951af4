// Package claims stands in front of the engine. A campaign that is sold out is asked for
// by ten times as many people as got something, and none of them may cost the database
// anything: so a claim first takes its coupon from a pool that is fast, and only then
// from the books. The books are the truth; what the pool granted and the books refuse is
// given back, and a pool that is slow, empty, old or gone costs speed and never a coupon.
package claims

import (
	"context"
	"time"
)

// Ask is one claim as a pool sees it.
type Ask struct {
	// Template is the campaign, Request the claim's idempotency key.
	Template, Request string
	// Generation is that of the stock as the asker knows it.
	Generation int64
	// Person is who asks; "" is nobody known, whom no limit of persons concerns.
	Person string
	// Day names the local day of the campaign, such as "2026-03-01", and DayEnds is when
	// it is over. Both are zero where days are not limited.
	Day     string
	DayEnds time.Time
}

// Verdict is what a pool says to a claim.
type Verdict string

// The verdicts, in the order in which they are tried: the first that holds is the answer.
const (
	// NotLoaded: the pool knows no stock of that generation. It is neither full nor empty.
	NotLoaded Verdict = "NOT_LOADED"
	// Already: this request took its coupon before, or was told so, and nothing was given
	// back since.
	Already Verdict = "ALREADY"
	// SoldOut: nothing is left.
	SoldOut Verdict = "SOLD_OUT"
	// UserLimit: the person has as many as a person may have.
	UserLimit Verdict = "USER_LIMIT"
	// DayLimit: the person has as many as a person may have in a day.
	DayLimit Verdict = "DAY_LIMIT"
	// Granted: one was taken for this request.
	Granted Verdict = "GRANTED"
)

// Taken is the answer of a pool to one Ask.
type Taken struct {
	Verdict Verdict
	// Generation is that of the stock in the pool; 0 when it has none.
	Generation int64
	// Held says, with a refusal, that the person or the request may have got something
	// before: the pool cannot tell whether this is a repeated claim, and the books can.
	Held bool
	// Err is why there is no answer. The request may have taken its coupon all the same.
	Err error
}

// Return says that a request did not get what it took.
type Return struct {
	// Ask is the one that took it, with the same person, day and generation.
	Ask
	// Why is the refusal of the books: the person is at the limit that it names, and the
	// pool remembers that; SoldOut and "" are no such limits.
	Why Verdict
	// Alone gives back only what no other message of the same request has met: if one did,
	// it is that one's.
	Alone bool
}

// Stock is what a campaign may still hand out.
type Stock struct {
	Template   string
	Generation int64
	// Left is how many coupons may still be handed out, or coupon.NoLimit.
	Left int64
	// PerPerson and PerDay are the limits of a person, or coupon.NoLimit.
	PerPerson, PerDay int64
	// Fresh says that nothing was handed out before: the pool will have seen every claim.
	// Otherwise it knows nobody until it is told by Recall, and until then may take everybody
	// for one who has something.
	Fresh bool
	// Until is when the campaign is over; zero is never. The pool may forget it a day later.
	Until time.Time
}

// Level is what a pool holds of a campaign.
type Level struct {
	// Loaded says whether it holds anything.
	Loaded     bool
	Generation int64
	Left       int64
	PerPerson  int64
	PerDay     int64
	// Complete says that the pool knows everybody who got something.
	Complete bool
}

// Pool hands out what is left of campaigns, each step as one indivisible operation. Its
// methods may be called from any goroutine.
type Pool interface {
	// Take asks for one coupon for each Ask. There are as many answers as asks.
	Take(ctx context.Context, asks []Ask) []Taken
	// GiveBack gives back what requests took, each at most once however often it is
	// called, and nothing of another generation than the stock. What a request took in a
	// later generation than that of the Return stays taken.
	GiveBack(ctx context.Context, returns []Return) error
	// Load sets the stock of a campaign, unless the pool has one of a later generation. A
	// stock of the same generation is set anew and keeps what it has counted of persons; a
	// new generation has counted nobody. Less than nothing left is nothing left.
	Load(ctx context.Context, stock Stock) error
	// Recall tells the pool who has got something, in as many calls as are convenient; the
	// last of them says that these were all. A stock of another generation is not told.
	Recall(ctx context.Context, template string, generation int64, persons []string, last bool) error
	// Level tells what the pool holds of a campaign.
	Level(ctx context.Context, template string) (Level, error)
}
