package amqp

import (
	"bufio"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// stub is a broker of which a test controls every word: it can be silent, slow,
// forgetful or gone, in ways a real one only is by accident.
type stub struct {
	// closed says that nobody is served any more.
	closed   bool
	t        testing.TB
	listener net.Listener

	mu     sync.Mutex // guards what follows
	conns  []*stubConn
	script script

	// happened reports what clients do, in the order of each connection.
	happened chan happening
	serving  sync.WaitGroup
}

// script says how the stub deals with clients. The zero value is a good broker
// without queues: it answers everything and confirms every publication.
type script struct {
	// publish replaces confirming.
	publish func(c *stubConn, p stubPublish)
	// messages and consumers are what the stub says of every queue.
	messages, consumers uint32
	// mute lists methods that get no answer.
	mute map[stubMethod]bool
	// refuse closes the channel on these methods, with this code.
	refuse map[stubMethod]uint16
}

// happening is something that a client did.
type happening struct {
	conn     *stubConn
	channel  uint16
	method   stubMethod
	tag      uint64 // of ack, nack, reject
	multiple bool
	requeue  bool
	consumer string // of consume, cancel
	prefetch uint16 // of qos
	publish  stubPublish
}

// stubPublish is a publication as it arrived.
type stubPublish struct {
	channel       uint16
	number        uint64 // as confirms count, from 1
	exchange, key string
	mandatory     bool
	properties    []byte
	body          []byte
}

// stubConn is the stub's side of one connection.
type stubConn struct {
	stub   *stub
	socket net.Conn
	reader *bufio.Reader

	mu sync.Mutex // guards writing

	hold      sync.RWMutex // while write-locked, nothing is read
	published map[uint16]uint64
	partial   *stubPublish
	size      uint64
}

func newStub(t testing.TB, s script) *stub {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	return serveStub(t, listener, s)
}

func serveStub(t testing.TB, listener net.Listener, s script) *stub {
	b := &stub{t: t, listener: listener, script: s, happened: make(chan happening, 100_000)}
	b.serving.Go(func() { b.accept(listener) })
	t.Cleanup(b.shut)
	return b
}

// url is where clients find the stub.
func (b *stub) url() string { return "amqp://guest:guest@" + b.listener.Addr().String() + "/" }

func (b *stub) accept(listener net.Listener) {
	for {
		socket, err := listener.Accept()
		if err != nil {
			return
		}
		c := &stubConn{
			stub: b, socket: socket, reader: bufio.NewReader(socket), published: map[uint16]uint64{},
		}
		b.mu.Lock()
		b.conns = append(b.conns, c)
		if b.closed {
			_ = c.socket.Close()
		}
		b.mu.Unlock()
		b.serving.Go(c.serve)
	}
}

// shut stops listening and drops everybody. Closing twice is fine.
func (b *stub) shut() {
	_ = b.listener.Close()
	b.mu.Lock()
	b.closed = true // whoever was accepted meanwhile is turned away
	b.mu.Unlock()
	b.dropAll()
	b.serving.Wait()
}

func (b *stub) dropAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		_ = c.socket.Close()
	}
	b.conns = nil
}

// change edits the script while clients are connected.
func (b *stub) change(edit func(*script)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	edit(&b.script)
}

func (b *stub) rules() script {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.script
}

// await returns the next happening of that method, skipping others.
func (b *stub) await(method stubMethod) happening {
	b.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case h := <-b.happened:
			if h.method == method {
				return h
			}
		case <-timer.C:
			b.t.Fatalf("client did not send method %v within %v", method, patience)
		}
	}
}

// seen empties the record of happenings.
func (b *stub) seen() []happening {
	var all []happening
	for {
		select {
		case h := <-b.happened:
			all = append(all, h)
		default:
			return all
		}
	}
}

func (c *stubConn) serve() {
	defer c.socket.Close()
	if tlsConn, ok := c.socket.(*tls.Conn); ok && tlsConn.Handshake() != nil {
		return
	}
	if !c.greet() {
		return
	}
	for {
		f, err := readStubFrame(c.reader)
		if err != nil {
			return
		}
		c.hold.RLock()
		goOn := c.handle(f)
		c.hold.RUnlock()
		if !goOn {
			return
		}
	}
}

// greet sends connection.start and connection.tune; the answers are read and not
// looked at.
func (c *stubConn) greet() bool {
	header := make([]byte, 8)
	if _, err := c.reader.Read(header); err != nil {
		return false
	}
	var start fields
	start.octet(0).octet(9).long(0).longstr("PLAIN").longstr("en_US")
	c.send(methodFrame(0, methodConnectionStart, &start))
	if _, err := readStubFrame(c.reader); err != nil {
		return false
	}
	var tune fields
	tune.short(2047).long(131072).short(0)
	c.send(methodFrame(0, methodConnectionTune, &tune))
	_, err := readStubFrame(c.reader)
	return err == nil
}

// send writes frames as one. Errors show as a closed connection.
func (c *stubConn) send(frames ...stubFrame) {
	var out []byte
	for _, f := range frames {
		out = appendStubFrame(out, f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.socket.Write(out)
}

func (c *stubConn) drop() { _ = c.socket.Close() }

// deliver sends messages with these tags; their ids are derived from the tags.
func (c *stubConn) deliver(channel uint16, consumer string, tags ...uint64) {
	c.deliverAgain(channel, consumer, 0, tags...)
}

// deliverAgain sends messages that came back so often.
func (c *stubConn) deliverAgain(channel uint16, consumer string, returns int64, tags ...uint64) {
	var frames []stubFrame
	for _, tag := range tags {
		var args fields
		args.shortstr(consumer).longlong(tag).octet(0).shortstr("commerce").shortstr("order.placed.v1")
		frames = append(frames, methodFrame(channel, methodDeliver, &args))
		frames = append(frames, contentFrames(channel, deliveryProperties(stubID(tag), returns), []byte("{}"))...)
	}
	c.send(frames...)
}

func (c *stubConn) confirm(channel uint16, number uint64, multiple, ack bool) {
	var args fields
	args.longlong(number)
	flags := byte(0)
	if multiple {
		flags = 1
	}
	method := methodAck
	if !ack {
		method = methodNack
	}
	c.send(methodFrame(channel, method, args.octet(flags)))
}

// giveBack returns a publication as unroutable.
func (c *stubConn) giveBack(p stubPublish) {
	var args fields
	args.short(312).shortstr("NO_ROUTE").shortstr(p.exchange).shortstr(p.key)
	frames := []stubFrame{methodFrame(p.channel, methodReturn, &args)}
	c.send(append(frames, contentFrames(p.channel, p.properties, p.body)...)...)
}

func (c *stubConn) cancelConsumer(channel uint16, consumer string) {
	var args fields
	c.send(methodFrame(channel, methodCancel, args.shortstr(consumer).octet(1)))
}

func (c *stubConn) closeChannel(channel uint16, code uint16, text string) {
	var args fields
	c.send(methodFrame(channel, methodChannelClose, args.short(code).shortstr(text).short(0).short(0)))
}

func (c *stubConn) block(reason string) {
	var args fields
	c.send(methodFrame(0, methodConnectionBlocked, args.shortstr(reason)))
}

func (c *stubConn) unblock() { c.send(methodFrame(0, methodConnectionUnblocked, nil)) }

// connections are those accepted and not dropped by dropAll, oldest first.
func (b *stub) connections() []*stubConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.conns)
}
