package amqp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"couponlease/internal/testkit"
)

func TestConnectRefusesBadConfiguration(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]ConnConfig{
		"no URL":          {},
		"other scheme":    {URL: "http://user:s3cret@host"},
		"password broken": {URL: "amqp://user:s3cret/%zz@host"},
		"no CA file":      {URL: "amqps://user:s3cret@host", CAFile: filepath.Join(t.TempDir(), "none.pem")},
		"empty CA file":   {URL: "amqps://user:s3cret@host", CAFile: empty},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := Connect(cfg)
			if err == nil {
				closeNow(t, "connection", conn.Close)
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

func TestConnWaitsForTheBroker(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, "amqp://guest:guest@"+address+"/")
	testkit.Eventually(t, patience, "an attempt fails", func() (bool, string) {
		return conn.State().LastError != nil, fmt.Sprintf("%+v", conn.State())
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := conn.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ready without a broker: %v", err)
	}
	listener, err = net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	serveStub(t, listener, script{})
	if err := conn.Ready(testContext(t)); err != nil {
		t.Fatalf("broker is there: %v", err)
	}
}

func TestConnState(t *testing.T) {
	b := newStub(t, script{})
	conn := connect(t, b.url())
	if err := conn.Ready(testContext(t)); err != nil {
		t.Fatal(err)
	}
	up := conn.State()
	if !up.Connected || up.Connects != 1 {
		t.Errorf("state %+v, want connected once", up)
	}
	server := b.connections()[0]
	server.block("low on disk")
	testkit.Eventually(t, patience, "blocked", func() (bool, string) {
		state := conn.State()
		return state.Blocked && state.BlockedReason == "low on disk", fmt.Sprintf("%+v", state)
	})
	server.drop()
	testkit.Eventually(t, patience, "connected again and no longer blocked", func() (bool, string) {
		state := conn.State()
		return state.Connected && !state.Blocked && state.Connects == 2 && state.LastError != nil, fmt.Sprintf("%+v", state)
	})
	if !conn.State().Since.After(up.Since) {
		t.Error("the time of the last change did not move")
	}
	closeNow(t, "connection", conn.Close)
	if state := conn.State(); state.Connected {
		t.Errorf("after Close: %+v", state)
	}
	if err := conn.Ready(testContext(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("ready after Close: %v, want ErrClosed", err)
	}
}

func TestChannelThatOpensTooLateIsClosed(t *testing.T) {
	b := newStub(t, script{mute: map[stubMethod]bool{methodChannelOpen: true}})
	conn := connect(t, b.url())
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	go func() {
		_, err := conn.Channel(ctx)
		opened <- err
	}()
	late := b.await(methodChannelOpen)
	cancel()
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Fatalf("open: %v, want cancelled", err)
	}
	late.conn.answer(late)
	b.await(methodChannelClose)
}

// TestCloseEndsEverything closes a subscriber, a publisher and their connections
// in every state they can be in. Nothing may hang, nothing may be left.
func TestCloseEndsEverything(t *testing.T) {
	type world struct {
		stub *stub
		sub  *Subscriber
		pub  *Publisher
		conn *Conn
	}
	consuming := func(t *testing.T, w world) happening { return w.stub.await(methodConsume) }
	for name, arrange := range map[string]func(t *testing.T, w world){
		"at once":   func(*testing.T, world) {},
		"consuming": func(t *testing.T, w world) { consuming(t, w) },
		"broker gone": func(t *testing.T, w world) {
			consuming(t, w)
			w.stub.shut()
			testkit.Eventually(t, patience, "connection is lost", func() (bool, string) {
				return !w.conn.State().Connected, "still connected"
			})
		},
		"reconnecting": func(t *testing.T, w world) {
			consuming(t, w).conn.drop()
			w.stub.await(methodConnectionOpen)
		},
		"broker silent": func(t *testing.T, w world) {
			consuming(t, w)
			for _, c := range w.stub.connections() {
				c.hold.Lock()
				t.Cleanup(c.hold.Unlock)
			}
		},
		"channel never opens": func(t *testing.T, w world) {
			w.stub.change(func(s *script) { s.mute = map[stubMethod]bool{methodChannelOpen: true} })
			w.stub.dropAll()
			w.stub.await(methodChannelOpen)
		},
		"queue missing": func(t *testing.T, w world) {
			w.stub.change(func(s *script) { s.refuse = map[stubMethod]uint16{methodConsume: 404} })
			w.stub.dropAll()
			w.stub.await(methodConsume)
			w.stub.await(methodConsume)
		},
		"paused": func(t *testing.T, w world) {
			consuming(t, w)
			w.sub.Pause("test")
			w.stub.await(methodCancel)
		},
		"message nobody takes": func(t *testing.T, w world) {
			h := consuming(t, w)
			h.conn.deliver(h.channel, h.consumer, 1)
			testkit.Eventually(t, patience, "message is delivered", func() (bool, string) {
				return w.sub.Stats()[0].Delivered == 1, fmt.Sprintf("%+v", w.sub.Stats()[0])
			})
		},
		"publisher blocked": func(t *testing.T, w world) {
			w.stub.change(func(s *script) {
				s.publish = func(c *stubConn, _ stubPublish) { c.block("low on memory") }
			})
			expect(t, w.pub.PublishBatch(testContext(t), numbered(QueueDead, 1)), ErrUnconfirmed)
		},
		"publication unconfirmed": func(t *testing.T, w world) {
			w.stub.change(func(s *script) { s.publish = func(*stubConn, stubPublish) {} })
			go w.pub.PublishBatch(context.Background(), numbered(QueueDead, 1))
			w.stub.await(methodPublish)
		},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			b := newStub(t, script{})
			cfg := ConnConfig{URL: b.url(), MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond, CloseTimeout: 50 * time.Millisecond}
			consume, err := Connect(cfg)
			if err != nil {
				t.Fatal(err)
			}
			publish, err := Connect(cfg)
			if err != nil {
				t.Fatal(err)
			}
			w := world{stub: b, conn: consume}
			w.sub = NewSubscriber(consume, SubscriberConfig{
				DrainTimeout: 50 * time.Millisecond, RequestTimeout: 50 * time.Millisecond,
				MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond,
			})
			w.pub = NewPublisher(publish, PublisherConfig{CloseTimeout: 50 * time.Millisecond, ConfirmTimeout: 50 * time.Millisecond})
			subscribe(t, w.sub, QueueOrderPlaced)
			arrange(t, w)
			closeNow(t, "subscriber", w.sub.Close)
			// A publisher that leaves publications unconfirmed says so.
			_ = w.pub.Close()
			closeNow(t, "consuming connection", consume.Close)
			closeNow(t, "publishing connection", publish.Close)
			closeNow(t, "connection, again", consume.Close)
		})
	}
}

func TestConnectionOverTLS(t *testing.T) {
	certificate, caFile := selfSigned(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	b := serveStub(t, listener, script{})
	address := "amqps://guest:guest@" + listener.Addr().String() + "/"

	stranger := connect(t, address)
	testkit.Eventually(t, patience, "an unknown authority is refused", func() (bool, string) {
		var unknown x509.UnknownAuthorityError
		return errors.As(stranger.State().LastError, &unknown), fmt.Sprintf("%+v", stranger.State())
	})

	conn, err := Connect(ConnConfig{URL: address, CAFile: caFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, "connection", conn.Close) })
	p := NewPublisher(conn, PublisherConfig{})
	t.Cleanup(func() { closeNow(t, "publisher", p.Close) })
	for i, err := range p.PublishBatch(testContext(t), numbered(QueueOrderPlaced, 300)) {
		if err != nil {
			t.Fatalf("publication %d over TLS: %v", i, err)
		}
	}
	b.await(methodPublish)
}

func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
