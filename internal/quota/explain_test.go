package quota

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// answer is an error that a server answers with.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestExplain(t *testing.T) {
	const replica = "the Redis that answers is a replica and takes no writes"
	tests := []struct {
		err  error
		want trouble
	}{
		{answer("READONLY You can't write against a read only replica. script: abc, on @user_script:12."), trouble{replica, true}},
		{answer("ERR Error running script (call to f_abc): @user_script:9: -READONLY You can't write against a secret replica."),
			trouble{replica, true}},
		{answer("MASTERDOWN Link with MASTER is down"), trouble{"the Redis that answers is a replica without its master", true}},
		{answer("LOADING Redis is loading the dataset in memory"), trouble{"Redis was started and still reads its data", true}},
		{answer("CLUSTERDOWN Hash slot not served"), trouble{"the Redis cluster is not complete and serves nobody", true}},
		{answer("OOM command not allowed when used memory > 'maxmemory'."), trouble{"the memory of Redis is full and it takes no writes", true}},
		{answer("MISCONF secret"), trouble{"Redis cannot write to its disk and therefore takes no writes", true}},
		{answer("NOREPLICAS Not enough good replicas to write."), trouble{"Redis has too few replicas and therefore takes no writes", true}},
		{answer("BUSY Redis is busy running a script."), trouble{"Redis is busy with a script that does not end", true}},
		{answer("NOAUTH Authentication required."), trouble{"Redis wants a user and password, and its URL has none", true}},
		{answer("WRONGPASS secret"), trouble{"Redis does not accept the user and password of its URL", true}},
		{answer("NOPERM this user has no permissions to access 'secret'"),
			trouble{"the user of the Redis URL may not run scripts on the keys of claims", true}},
		{answer("ERR max number of clients reached"), trouble{"Redis has as many clients as it takes", true}},
		{answer("CROSSSLOT Keys in request don't hash to the same slot"),
			trouble{"keys of one campaign are in different slots: this is a mistake of the program", false}},
		{answer("MOVED 1234 secret:6379"), trouble{"the Redis that answers is a node of a cluster that does not hold this campaign", false}},
		{answer("ASK 1234 secret:6379"), trouble{"the Redis cluster is just moving this campaign to another node", false}},
		{answer("TRYAGAIN secret"), trouble{"the Redis cluster is just moving this campaign to another node", false}},
		{answer("NOSCRIPT No matching script."), trouble{"Redis forgot the script twice in a row", false}},
		{answer("WRONGTYPE Operation against a key holding the wrong kind of value"),
			trouble{"a key of this campaign in Redis holds something else: another program uses the same keys", false}},
		{answer("ERR unknown command 'secret', with args beginning with: 'secret'"), trouble{"Redis answers with an error (ERR)", false}},
		{answer("secret"), trouble{"Redis answers with an error (no code)", false}},
		{answer(""), trouble{"Redis answers with an error (no code)", false}},
		{context.DeadlineExceeded, trouble{"Redis did not answer in time", true}},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, trouble{"Redis did not answer in time", true}},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, Err: syscall.ECONNREFUSED},
			trouble{"Redis cannot be reached", true}},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "secret.example"}},
			trouble{"the name of the Redis server cannot be resolved", true}},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: secret")}, trouble{"Redis and this program do not agree on TLS", true}},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Host: "secret", Certificate: &x509.Certificate{}}},
			trouble{"Redis and this program do not agree on TLS", true}},
		{tls.RecordHeaderError{Msg: "secret"}, trouble{"Redis and this program do not agree on TLS", true}},
		{redis.ErrPoolTimeout, trouble{"all connections to Redis are waiting for answers", true}},
		{redis.ErrPoolExhausted, trouble{"all connections to Redis are waiting for answers", true}},
		{redis.ErrClosed, trouble{"the client of Redis is closed", true}},
		{ErrAway, trouble{"Redis is left alone because it did not answer", true}},
		{io.EOF, trouble{"the connection to Redis broke", true}},
		{&net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}, trouble{"the connection to Redis broke", true}},
		{trouble{"as it was", false}, trouble{"as it was", false}},
	}
	for _, test := range tests {
		t.Run(test.want.text, func(t *testing.T) {
			for _, err := range []error{test.err, fmt.Errorf("ask for secret: %w", test.err)} {
				got := explain(err)
				if got != test.want {
					t.Errorf("%v is explained as %+v, want %+v", err, got, test.want)
				}
				if text := got.Error(); strings.Contains(text, "secret") || strings.Contains(text, "192.0.2.1") {
					t.Errorf("%v is told as %q", err, text)
				}
			}
		})
	}
}
