package store

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
)

// cutter is a way to the database that can swallow the answer to a COMMIT and break
// the connection instead.
type cutter struct {
	listener net.Listener
	target   string
	armed    atomic.Bool
}

// newCutter returns the URL of the way.
func newCutter(t *testing.T, databaseURL string) (*cutter, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: listener, target: u.Host}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	u.Host = listener.Addr().String()
	return c, u.String()
}

func (c *cutter) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	buf := make([]byte, 64*1024)
	for {
		n, err := server.Read(buf)
		// The command tag of the COMMIT says that it is done.
		if err != nil || c.armed.Load() && bytes.Contains(buf[:n], []byte("COMMIT\x00")) {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestAnswerToTheCommitLost(t *testing.T) {
	direct := testkit.Postgres(t)
	way, through := newCutter(t, direct)
	s := openAt(t, through)
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	issue(t, s, unlimited("summer"), "C1")
	r := request("m1", now(t, s), placed("o1", "c1"))
	way.armed.Store(true)
	var outcomes []coupon.Outcome
	err := s.Apply(t.Context(), []coupon.Request{r}, decideAll([]coupon.Request{r}, &outcomes))
	if got := Classify(err); got != batcher.Ambiguous {
		t.Fatalf("got %s, want %s: %v", got, batcher.Ambiguous, err)
	}
	way.armed.Store(false)
	// It had been committed, and the inbox knows.
	if got := apply(t, s, r)[0]; got.Code != coupon.DuplicateEvent || got.First != coupon.OK {
		t.Errorf("got %+v, want the first answer again", got)
	}
}
