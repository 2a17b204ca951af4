package testkit

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a test and a service, so that the test can take the service away from whoever uses the proxy's
// URL, while it stays there for everybody else.
type Proxy struct {
	// URL is the service's, with the proxy's address.
	URL string

	target   string
	listener net.Listener
	handlers sync.WaitGroup

	mu    sync.Mutex // guards what follows
	isCut bool
	conns map[net.Conn]bool
	dress func(net.Conn) (net.Conn, error) // what the client speaks; nil: what the service speaks
}

// proxyDial bounds how long the service may take to accept a connection.
const proxyDial = 5 * time.Second

// NewProxy starts a proxy to the service of a URL. It ends with the test.
func NewProxy(t testing.TB, service string) *Proxy {
	t.Helper()
	u, err := url.Parse(service)
	if err != nil {
		t.Fatal("the service to stand before is not given as a URL")
	}
	p := &Proxy{target: u.Host, conns: map[net.Conn]bool{}}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatalf("start proxy: %v", err)
	}
	u.Host = p.listener.Addr().String()
	p.URL = u.String()
	p.handlers.Go(p.accept)
	t.Cleanup(func() {
		if err := p.listener.Close(); err != nil {
			t.Errorf("close proxy: %v", err)
		}
		p.Cut()
		p.handlers.Wait()
	})
	return p
}

// Cut ends all connections and refuses new ones, until Restore.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = true
	for conn := range p.conns {
		// Whoever reads or writes it finds out.
		_ = conn.Close()
	}
	clear(p.conns)
}

// Restore lets connections through again.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = false
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.handlers.Go(func() { p.carry(conn) })
	}
}

// carry passes bytes on in both directions until one end is closed.
func (p *Proxy) carry(client net.Conn) {
	defer p.end(client)
	if !p.keep(client) {
		return
	}
	plain, err := p.undress(client)
	if err != nil {
		return
	}
	server, err := net.DialTimeout("tcp", p.target, proxyDial)
	if err != nil {
		return
	}
	defer p.end(server)
	if !p.keep(server) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		// An error ends the connection like an orderly end does.
		_, _ = io.Copy(plain, server)
		_ = plain.Close()
	})
	_, _ = io.Copy(server, plain)
	_ = server.Close()
	back.Wait()
}

// undress gives the client's side in the service's own protocol.
func (p *Proxy) undress(client net.Conn) (net.Conn, error) {
	p.mu.Lock()
	dress := p.dress
	p.mu.Unlock()
	if dress == nil {
		return client, nil
	}
	return dress(client)
}

// end closes a connection, if it is not closed yet, and forgets it.
func (p *Proxy) end(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// keep remembers a connection to cut, and says whether it may live.
func (p *Proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isCut {
		p.conns[conn] = true
	}
	return !p.isCut
}
