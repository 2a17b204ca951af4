package amqp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// The wire format of AMQP 0-9-1, as far as the stub speaks it.

const (
	frameMethod    = 1
	frameHeader    = 2
	frameBody      = 3
	frameHeartbeat = 8
	frameEnd       = 0xCE
)

// stubMethod names a method by class and number.
type stubMethod struct{ class, method uint16 }

var (
	methodConnectionStart     = stubMethod{10, 10}
	methodConnectionTune      = stubMethod{10, 30}
	methodConnectionOpen      = stubMethod{10, 40}
	methodConnectionOpenOK    = stubMethod{10, 41}
	methodConnectionClose     = stubMethod{10, 50}
	methodConnectionCloseOK   = stubMethod{10, 51}
	methodConnectionBlocked   = stubMethod{10, 60}
	methodConnectionUnblocked = stubMethod{10, 61}
	methodChannelOpen         = stubMethod{20, 10}
	methodChannelOpenOK       = stubMethod{20, 11}
	methodChannelClose        = stubMethod{20, 40}
	methodChannelCloseOK      = stubMethod{20, 41}
	methodExchangeDeclare     = stubMethod{40, 10}
	methodExchangeDeclareOK   = stubMethod{40, 11}
	methodQueueDeclare        = stubMethod{50, 10}
	methodQueueDeclareOK      = stubMethod{50, 11}
	methodQos                 = stubMethod{60, 10}
	methodQosOK               = stubMethod{60, 11}
	methodConsume             = stubMethod{60, 20}
	methodConsumeOK           = stubMethod{60, 21}
	methodCancel              = stubMethod{60, 30}
	methodCancelOK            = stubMethod{60, 31}
	methodPublish             = stubMethod{60, 40}
	methodReturn              = stubMethod{60, 50}
	methodDeliver             = stubMethod{60, 60}
	methodAck                 = stubMethod{60, 80}
	methodReject              = stubMethod{60, 90}
	methodNack                = stubMethod{60, 120}
	methodConfirmSelect       = stubMethod{85, 10}
	methodConfirmSelectOK     = stubMethod{85, 11}
)

// fields writes method arguments.
type fields struct{ bytes.Buffer }

func (f *fields) octet(v byte) *fields { f.WriteByte(v); return f }
func (f *fields) short(v uint16) *fields {
	f.Write(binary.BigEndian.AppendUint16(nil, v))
	return f
}
func (f *fields) long(v uint32) *fields {
	f.Write(binary.BigEndian.AppendUint32(nil, v))
	return f
}
func (f *fields) longlong(v uint64) *fields {
	f.Write(binary.BigEndian.AppendUint64(nil, v))
	return f
}
func (f *fields) shortstr(v string) *fields {
	f.WriteByte(byte(len(v)))
	f.WriteString(v)
	return f
}
func (f *fields) longstr(v string) *fields {
	f.long(uint32(len(v)))
	f.WriteString(v)
	return f
}

// arguments reads method arguments. The stub only talks to a client library
// that is known to send well-formed ones.
type arguments struct{ b []byte }

func (a *arguments) octet() byte { v := a.b[0]; a.b = a.b[1:]; return v }
func (a *arguments) short() uint16 {
	v := binary.BigEndian.Uint16(a.b)
	a.b = a.b[2:]
	return v
}
func (a *arguments) longlong() uint64 {
	v := binary.BigEndian.Uint64(a.b)
	a.b = a.b[8:]
	return v
}
func (a *arguments) shortstr() string {
	n := int(a.octet())
	v := string(a.b[:n])
	a.b = a.b[n:]
	return v
}

type stubFrame struct {
	kind    byte
	channel uint16
	payload []byte
}

func readStubFrame(r *bufio.Reader) (stubFrame, error) {
	var header [7]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return stubFrame{}, err
	}
	f := stubFrame{kind: header[0], channel: binary.BigEndian.Uint16(header[1:3])}
	f.payload = make([]byte, binary.BigEndian.Uint32(header[3:7]))
	if _, err := io.ReadFull(r, f.payload); err != nil {
		return stubFrame{}, err
	}
	end, err := r.ReadByte()
	if err == nil && end != frameEnd {
		err = fmt.Errorf("frame ends with %#x", end)
	}
	return f, err
}

func appendStubFrame(to []byte, f stubFrame) []byte {
	to = append(to, f.kind)
	to = binary.BigEndian.AppendUint16(to, f.channel)
	to = binary.BigEndian.AppendUint32(to, uint32(len(f.payload)))
	to = append(to, f.payload...)
	return append(to, frameEnd)
}

func methodFrame(channel uint16, m stubMethod, args *fields) stubFrame {
	payload := binary.BigEndian.AppendUint16(nil, m.class)
	payload = binary.BigEndian.AppendUint16(payload, m.method)
	if args != nil {
		payload = append(payload, args.Bytes()...)
	}
	return stubFrame{kind: frameMethod, channel: channel, payload: payload}
}

// contentFrames are the header and body that follow a method with content.
// properties are the property flags and values as on the wire.
func contentFrames(channel uint16, properties, body []byte) []stubFrame {
	var header fields
	header.short(60).short(0).longlong(uint64(len(body)))
	header.Write(properties)
	frames := []stubFrame{{kind: frameHeader, channel: channel, payload: header.Bytes()}}
	if len(body) > 0 {
		frames = append(frames, stubFrame{kind: frameBody, channel: channel, payload: body})
	}
	return frames
}

// deliveryProperties encodes a message id, and how often the message came back.
func deliveryProperties(id string, returns int64) []byte {
	var properties fields
	if returns == 0 {
		properties.short(1 << 7).shortstr(id)
		return properties.Bytes()
	}
	var table fields
	table.shortstr("x-delivery-count").octet('l').longlong(uint64(returns))
	properties.short(1<<13 | 1<<7).longstr(table.String()).shortstr(id)
	return properties.Bytes()
}
