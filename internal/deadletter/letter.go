package deadletter

import (
	"crypto/sha256"
	"errors"
	"time"
)

// Status is how far somebody has got with a letter.
type Status string

// The statuses.
const (
	// New: somebody has to look at it.
	New Status = "NEW"
	// Replayed: it is on its way, and its outcome is awaited.
	Replayed Status = "REPLAYED"
	// Edited: another letter with a corrected body stands for it.
	Edited Status = "EDITED"
	// Resolved: its effect is there, or was seen not to be needed.
	Resolved Status = "RESOLVED"
	// Discarded: it is not to be applied.
	Discarded Status = "DISCARDED"
)

// Statuses lists them all.
func Statuses() []Status { return []Status{New, Replayed, Edited, Resolved, Discarded} }

// Outcome is what came of replaying a letter.
type Outcome string

// The outcomes.
const (
	// Applied: the message was answered, and the answer is final. It may be a refusal.
	Applied Outcome = "APPLIED"
	// Duplicate: it had been applied before; the replay changed nothing.
	Duplicate Outcome = "DUPLICATE"
	// Stale: it came too late or too early to mean anything; nothing was changed.
	Stale Outcome = "STALE"
	// FailedAgain: the same letter has one more attempt.
	FailedAgain Outcome = "FAILED_AGAIN"
	// Skipped: it was not sent, because the job was aborted before its turn, or because
	// its lease token is not kept and only its sender can send it. It is new again.
	Skipped Outcome = "SKIPPED"
	// ByEdit: the letter that corrects it was resolved.
	ByEdit Outcome = "EDITED"
)

// Misrouted is the reason of a message that was published as something else than it says
// it is. It is never replayed.
const Misrouted = "MISROUTED"

// Reasons of letters that the broker itself gave up.
const (
	// CrashLoop: the delivery limit was reached without an answer. Either handling the
	// message ends the process, or it cannot be forwarded.
	CrashLoop = "CRASH_LOOP"
	// TTL: it was not taken from its queue in time.
	TTL = "TTL"
	// MaxLen: its queue was full.
	MaxLen = "MAXLEN"
	// Rejected: it could not even be read as a message.
	Rejected = "REJECTED"
	// Unknown: neither we nor the broker says why.
	Unknown = "UNKNOWN"
)

// MaxBody is how much of a body is kept, in bytes. It is more than any message that can
// be applied has.
const MaxBody = 1 << 20

// Letter is a message that could not be applied.
type Letter struct {
	// ID is a UUID; greater ids were filed later.
	ID string
	// MessageID, Queue and Hash are its identity. Hash is the SHA-256 of Body.
	MessageID, Queue string
	Hash             [sha256.Size]byte
	Type             string

	Status  Status
	Outcome Outcome

	// Reason is a code, Error the full text. Host and Version name the process.
	Reason, Error, Host, Version string
	Fingerprint                  string
	// Attempts is how often it was tried before it failed last, 0 when nobody knows;
	// Failures how often it failed like that.
	Attempts, Failures int64
	// First and Last are when it failed, Filed and Changed when we knew.
	First, Last, Filed, Changed time.Time

	// Order and Coupons are what it is about, as far as it can be read.
	Order   string
	Coupons []string
	Note    string
	// EditedFrom is the letter that this one corrects, Job the job that it belongs to.
	EditedFrom, Job string

	Exchange, RoutingKey       string
	ContentType, CorrelationID string
	ReplyTo                    string
	// Sent is the sender's timestamp; zero when there is none.
	Sent    time.Time
	Headers map[string]string
	// Body holds no lease tokens. Size is how long it really is, in bytes; greater than
	// len(Body) when only the beginning was kept.
	Size int64
	Body []byte
	// Redacted: a lease token was blanked in Body, which is not what the sender sent any
	// more. Answered: a message of that id and order was applied, or a command with that
	// key was answered; told of letters that were read whole from where they are kept, and
	// only of redacted ones.
	Redacted, Answered bool

	// Replay is the item of a job whose message this failure is of; zero when it is of
	// the message as it was sent first.
	Replay Item
}

// Whole says whether all of the body was kept.
func (l *Letter) Whole() bool { return l.Size == int64(len(l.Body)) }

// Source tells failures of one letter in the same instant apart.
func (l *Letter) Source() string { return l.Host + "|" + l.Replay.String() }

// Attempt is one failure of a letter.
type Attempt struct {
	Failed, Filed time.Time
	Attempts      int64
	Reason, Error string
	Host, Version string
	// Job is the replay that it is the failure of, "" for none.
	Job string
}

// Group is all letters with one fingerprint.
type Group struct {
	Fingerprint, Type, Reason string
	// Error is that of the letter filed last, Sample its id.
	Error, Sample string
	Letters       int64
	First, Last   time.Time
}

// Count is how many letters there are of one kind.
type Count struct {
	Status             Status
	Type, Reason       string
	Letters            int64
	Oldest, LastFailed time.Time
}

// ErrConflict says that a letter or a job is not in a state for what was asked, such as
// a letter that another job is replaying. Nothing was changed.
var ErrConflict = errors.New("conflict")

// ErrRedacted says that a letter was filed without its lease token. Sent without it, the
// message would be answered as another one, and its sender with it.
var ErrRedacted = errors.New("its lease token is not kept: the sender has to send it again")

// ErrNotFound says that there is no such letter or job.
var ErrNotFound = errors.New("not found")
