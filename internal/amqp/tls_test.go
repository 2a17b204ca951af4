package amqp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"couponlease/internal/testkit"
)

// secured is the real broker behind a server certificate of the test.
type secured struct {
	broker
	authority *testkit.Authority
	trust     *tls.Config
}

func newSecured(t *testing.T) secured {
	t.Helper()
	authority := testkit.NewAuthority(t)
	return secured{broker: newBroker(t), authority: authority, trust: &tls.Config{RootCAs: authority.Pool}}
}

// behind gives the URL of the broker behind TLS.
func (s secured) behind(t *testing.T, service string, config *tls.Config, certificate testkit.Certificate) string {
	t.Helper()
	config = config.Clone()
	config.Certificates = []tls.Certificate{certificate.TLS}
	return testkit.NewTLSProxy(t, service, config).URL
}

// connectTLS keeps a connection with TLS open for the test.
func connectTLS(t *testing.T, url string, trust *tls.Config) *Conn {
	t.Helper()
	conn, err := Connect(ConnConfig{
		URL: url, TLS: trust, MinBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { closeNow(t, "connection", conn.Close) })
	return conn
}

func TestConnectionOverTLS(t *testing.T) {
	s := newSecured(t)
	url := s.behind(t, s.URL, &tls.Config{}, s.authority.Server(t, "127.0.0.1", "localhost"))
	for name, url := range map[string]string{
		"by address": url, "by name": strings.Replace(url, "127.0.0.1", "localhost", 1),
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPublisher(connectTLS(t, url, s.trust), PublisherConfig{})
			t.Cleanup(func() { closeNow(t, "publisher", p.Close) })
			publishAll(t, p, numbered(QueueOrderPlaced, 300))
		})
	}
	stock, err := NewStockSubscriber(StockConfig{URL: url, TLS: s.trust})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, "stock subscriber", stock.Close) })
	receive(t, subscribe(t, stock, QueueOrderPlaced)).Ack()
	if s.trust.ServerName != "" {
		t.Errorf("the caller's configuration was changed: it names %s", s.trust.ServerName)
	}
}

// What is wrong with the other side is told, and nothing is sent to it.
func TestConnectionOverTLSIsRefused(t *testing.T) {
	s := newSecured(t)
	wants := &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.authority.Pool}
	stranger := testkit.NewAuthority(t)
	right := s.authority.Server(t, "127.0.0.1")
	strangers := s.trust.Clone()
	strangers.Certificates = []tls.Certificate{stranger.Client(t, "coupond").TLS}
	for name, test := range map[string]struct {
		url   string
		trust *tls.Config
		says  string
	}{
		"another authority":         {s.behind(t, s.URL, &tls.Config{}, stranger.Server(t, "127.0.0.1")), s.trust, "unknown authority"},
		"authorities of the system": {s.behind(t, s.URL, &tls.Config{}, right), nil, "unknown authority"},
		"another address":           {s.behind(t, s.URL, &tls.Config{}, s.authority.Server(t, "192.0.2.1")), s.trust, "valid for 192.0.2.1"},
		"another name":              {s.behind(t, s.URL, &tls.Config{}, s.authority.Server(t, "localhost")), s.trust, "127.0.0.1"},
		"expired":                   {s.behind(t, s.URL, &tls.Config{}, s.authority.Expired(t, "127.0.0.1")), s.trust, "expired"},
		"a client's":                {s.behind(t, s.URL, &tls.Config{}, s.authority.Client(t, "127.0.0.1")), s.trust, "certificate"},
		"old TLS":                   {s.behind(t, s.URL, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, right), s.trust, "protocol version"},
		"no TLS":                    {strings.Replace(s.URL, "amqp://", "amqps://", 1), s.trust, "does not speak TLS"},
		"no certificate":            {s.behind(t, s.URL, wants, right), s.trust, "certificate required"},
		"wrong certificate":         {s.behind(t, s.URL, wants, right), strangers, "unknown certificate authority"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := connectTLS(t, test.url, test.trust)
			testkit.Eventually(t, patience, "an attempt fails for the right reason", func() (bool, string) {
				err := conn.State().LastError
				return err != nil && strings.Contains(err.Error(), test.says), fmt.Sprint(err)
			})
			if state := conn.State(); state.Connects > 0 || strings.Contains(state.LastError.Error(), s.VHost) {
				t.Errorf("connected %d times; the error is %v", state.Connects, state.LastError)
			}
		})
	}
}

func TestConnectionShowsItsCertificate(t *testing.T) {
	s := newSecured(t)
	wants := &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.authority.Pool}
	trust := s.trust.Clone()
	trust.Certificates = []tls.Certificate{s.authority.Client(t, "coupond").TLS}
	conn := connectTLS(t, s.behind(t, s.URL, wants, s.authority.Server(t, "127.0.0.1")), trust)
	if err := conn.Ready(testContext(t)); err != nil {
		t.Error(err)
	}
}

func TestManagementOverTLS(t *testing.T) {
	s := newSecured(t)
	verify := func(certificate testkit.Certificate, trust *tls.Config) error {
		t.Helper()
		m, err := NewManagement(s.behind(t, s.ManagementURL, &tls.Config{}, certificate), s.VHost, trust)
		if err != nil {
			t.Fatal(err)
		}
		return Ensure(testContext(t), s.conn, DefaultLayout(Options{}), ModeVerify, m)
	}
	if err := verify(s.authority.Server(t, "127.0.0.1"), s.trust); err != nil {
		t.Error(err)
	}
	var unknown x509.UnknownAuthorityError
	if err := verify(s.authority.Server(t, "127.0.0.1"), nil); !errors.As(err, &unknown) {
		t.Errorf("authorities of the system: %v, want unknown authority", err)
	}
	var name x509.HostnameError
	if err := verify(s.authority.Server(t, "localhost"), s.trust); !errors.As(err, &name) {
		t.Errorf("another name: %v, want that said", err)
	}
}
