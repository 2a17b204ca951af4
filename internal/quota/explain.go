package quota

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// trouble is what is wrong with Redis, in words that hold nothing of what it was asked and
// nothing of its URL, both of which may be in the library's and the server's errors.
type trouble struct {
	text string
	// concernsAll says that whoever asks now fares alike; otherwise only who asked this.
	concernsAll bool
}

func (t trouble) Error() string { return t.text }

// refusals are the errors that a server answers with, by their first word.
var refusals = []struct {
	code string
	trouble
}{
	{"READONLY", trouble{"the Redis that answers is a replica and takes no writes", true}},
	{"MASTERDOWN", trouble{"the Redis that answers is a replica without its master", true}},
	{"LOADING", trouble{"Redis was started and still reads its data", true}},
	{"CLUSTERDOWN", trouble{"the Redis cluster is not complete and serves nobody", true}},
	{"OOM", trouble{"the memory of Redis is full and it takes no writes", true}},
	{"MISCONF", trouble{"Redis cannot write to its disk and therefore takes no writes", true}},
	{"NOREPLICAS", trouble{"Redis has too few replicas and therefore takes no writes", true}},
	{"BUSY", trouble{"Redis is busy with a script that does not end", true}},
	{"NOAUTH", trouble{"Redis wants a user and password, and its URL has none", true}},
	{"WRONGPASS", trouble{"Redis does not accept the user and password of its URL", true}},
	{"NOPERM", trouble{"the user of the Redis URL may not run scripts on the keys of claims", true}},
	{"CROSSSLOT", trouble{"keys of one campaign are in different slots: this is a mistake of the program", false}},
	{"MOVED", trouble{"the Redis that answers is a node of a cluster that does not hold this campaign", false}},
	{"ASK", trouble{"the Redis cluster is just moving this campaign to another node", false}},
	{"TRYAGAIN", trouble{"the Redis cluster is just moving this campaign to another node", false}},
	{"NOSCRIPT", trouble{"Redis forgot the script twice in a row", false}},
	{"WRONGTYPE", trouble{"a key of this campaign in Redis holds something else: another program uses the same keys", false}},
}

// explain says what an error of the Redis library means.
func explain(err error) trouble {
	var known trouble
	var answered redis.Error
	var operation *net.OpError
	var name *net.DNSError
	var timeout net.Error
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrAway):
		return trouble{ErrAway.Error(), true}
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &operation) && operation.Op == "remote error":
		return trouble{"Redis and this program do not agree on TLS", true}
	case errors.As(err, &name):
		return trouble{"the name of the Redis server cannot be resolved", true}
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return trouble{"all connections to Redis are waiting for answers", true}
	case errors.Is(err, redis.ErrClosed):
		return trouble{"the client of Redis is closed", true}
	case errors.As(err, &answered):
		return refusal(answered.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return trouble{"Redis did not answer in time", true}
	case errors.As(err, &operation) && operation.Op == "dial":
		return trouble{"Redis cannot be reached", true}
	default:
		return trouble{"the connection to Redis broke", true}
	}
}

// refusal says what an error answer means. Old servers put the one that a script ran into
// behind a dash inside their own.
func refusal(text string) trouble {
	for _, r := range refusals {
		if strings.HasPrefix(text, r.code+" ") || strings.Contains(text, "-"+r.code+" ") {
			return r.trouble
		}
	}
	if strings.HasPrefix(text, "ERR max number of clients") {
		return trouble{"Redis has as many clients as it takes", true}
	}
	// The rest may repeat what was asked.
	code, _, _ := strings.Cut(text, " ")
	if code == "" || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		code = "no code"
	}
	return trouble{"Redis answers with an error (" + code + ")", false}
}
