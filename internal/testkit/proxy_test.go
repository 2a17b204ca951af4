package testkit

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"
)

// echo is a service that repeats lines.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintln(conn, lines.Text())
				}
			}()
		}
	}()
	return "amqp://user:password@" + listener.Addr().String() + "/vhost"
}

// talk says one line over a connection and waits for the answer.
func talk(t *testing.T, conn net.Conn) error {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(conn, "hello"); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && line != "hello\n" {
		t.Errorf("answer is %q", line)
	}
	return err
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	if u.Scheme != "amqp" || u.User.String() != "user:password" || u.Path != "/vhost" {
		t.Fatalf("the proxy's URL is %s", p.URL)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestProxyTakesTheServiceAwayAndBringsItBack(t *testing.T) {
	p := NewProxy(t, echo(t))
	before := dial(t, p)
	if err := talk(t, before); err != nil {
		t.Fatalf("through the proxy: %v", err)
	}
	p.Cut()
	if err := talk(t, before); err == nil {
		t.Error("a connection outlives the cut")
	}
	if err := talk(t, dial(t, p)); err == nil {
		t.Error("a new connection is served while cut")
	}
	p.Restore()
	if err := talk(t, dial(t, p)); err != nil {
		t.Errorf("after the cut: %v", err)
	}
}
