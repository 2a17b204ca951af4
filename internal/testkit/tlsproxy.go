package testkit

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
)

// NewTLSProxy is NewProxy with TLS on the side of the client: it shows whatever certificate a test wants to see
// refused, and whoever does not refuse it reaches the real service. The service itself is reached in plain text.
func NewTLSProxy(t testing.TB, service string, config *tls.Config) *Proxy {
	t.Helper()
	p := NewProxy(t, service)
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal("the proxy's address is not a URL")
	}
	dress := func(conn net.Conn) (net.Conn, error) { return tls.Server(conn, config), nil }
	if strings.HasPrefix(u.Scheme, "postgres") {
		plain := dress
		dress = func(conn net.Conn) (net.Conn, error) {
			if err := grantTLS(conn); err != nil {
				return nil, err
			}
			return plain(conn)
		}
		query := u.Query()
		query.Del("sslmode")
		u.RawQuery = query.Encode()
	} else {
		u.Scheme += "s"
	}
	p.URL = u.String()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dress = dress
	return p
}

// postgresWantsTLS is the code in a PostgreSQL client's request for TLS.
const postgresWantsTLS = 80877103

// grantTLS answers a PostgreSQL client's request for TLS.
func grantTLS(conn net.Conn) error {
	var request [8]byte
	if _, err := io.ReadFull(conn, request[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(request[4:]) != postgresWantsTLS {
		return errors.New("the client does not ask for TLS")
	}
	_, err := conn.Write([]byte{'S'})
	return err
}
