package amqp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"couponlease/internal/testkit"
)

func TestConnectRefusesBadConfiguration(t *testing.T) {
	for name, cfg := range map[string]ConnConfig{
		"no URL":          {},
		"other scheme":    {URL: "http://user:s3cret@host"},
		"password broken": {URL: "amqp://user:s3cret/%zz@host"},
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

func TestConnectionRefused(t *testing.T) {
	b := testkit.RabbitMQ(t)
	for name, change := range map[string]func(*url.URL){
		"wrong password": func(u *url.URL) { u.User = url.UserPassword(b.VHost, "s3cret") },
		"other vhost":    func(u *url.URL) { u.Path = "/no-such-vhost" },
	} {
		t.Run(name, func(t *testing.T) {
			address, err := url.Parse(b.URL)
			if err != nil {
				t.Fatal(err)
			}
			change(address)
			conn := connect(t, address.String())
			testkit.Eventually(t, patience, "the refusal is known", func() (bool, string) {
				err := conn.State().LastError
				return IsRefused(err), fmt.Sprint(err)
			})
			if text := conn.State().LastError.Error(); strings.Contains(text, "s3cret") {
				t.Errorf("the error tells the password: %s", text)
			}
		})
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
		again := state.Connected && state.Connects == 2 && state.LastError != nil
		return again && !state.Blocked, fmt.Sprintf("%+v", state)
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
