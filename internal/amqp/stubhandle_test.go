package amqp

import (
	"encoding/binary"
	"fmt"
)

func stubID(tag uint64) string { return fmt.Sprintf("id-%d", tag) }

// answers are the methods that simply get an empty answer.
var answers = map[stubMethod]stubMethod{
	methodConnectionClose: methodConnectionCloseOK,
	methodChannelClose:    methodChannelCloseOK,
	methodExchangeDeclare: methodExchangeDeclareOK,
	methodQos:             methodQosOK,
	methodConfirmSelect:   methodConfirmSelectOK,
}

// handle deals with one frame. It returns false when the connection is over.
func (c *stubConn) handle(f stubFrame) bool {
	switch f.kind {
	case frameMethod:
		method := stubMethod{binary.BigEndian.Uint16(f.payload), binary.BigEndian.Uint16(f.payload[2:])}
		return c.handleMethod(f.channel, method, &arguments{f.payload[4:]})
	case frameHeader:
		if c.partial != nil {
			c.size = binary.BigEndian.Uint64(f.payload[4:])
			c.partial.properties = f.payload[12:]
			c.completePublish()
		}
	case frameBody:
		if c.partial != nil {
			c.partial.body = append(c.partial.body, f.payload...)
			c.completePublish()
		}
	}
	return true
}

func (c *stubConn) handleMethod(channel uint16, method stubMethod, args *arguments) bool {
	h := happening{conn: c, channel: channel, method: method}
	rules := c.stub.rules()
	if code := rules.refuse[method]; code != 0 {
		c.stub.happened <- h
		c.closeChannel(channel, code, "refused by the test")
		return true
	}
	if method == methodPublish {
		args.short()
		c.partial = &stubPublish{channel: channel, exchange: args.shortstr(), key: args.shortstr()}
		c.partial.mandatory = args.octet()&1 != 0
		return true
	}
	readArguments(&h, args)
	c.stub.happened <- h
	if !rules.mute[method] {
		c.answer(h)
	}
	return method != methodConnectionClose && method != methodConnectionCloseOK
}

func readArguments(h *happening, args *arguments) {
	switch h.method {
	case methodAck:
		h.tag = args.longlong()
		h.multiple = args.octet() != 0
	case methodNack:
		h.tag = args.longlong()
		flags := args.octet()
		h.multiple, h.requeue = flags&1 != 0, flags&2 != 0
	case methodReject:
		h.tag = args.longlong()
		h.requeue = args.octet() != 0
	case methodQos:
		args.short() // half of the prefetch size
		args.short()
		h.prefetch = args.short()
	case methodConsume:
		args.short()
		args.shortstr() // the queue
		h.consumer = args.shortstr()
	case methodCancel:
		h.consumer = args.shortstr()
	}
}

func (c *stubConn) answer(h happening) {
	var args fields
	switch h.method {
	case methodConnectionOpen:
		c.send(methodFrame(0, methodConnectionOpenOK, args.shortstr("")))
	case methodChannelOpen:
		c.published[h.channel] = 0
		c.send(methodFrame(h.channel, methodChannelOpenOK, args.longstr("")))
	case methodConsume:
		c.send(methodFrame(h.channel, methodConsumeOK, args.shortstr(h.consumer)))
	case methodCancel:
		c.send(methodFrame(h.channel, methodCancelOK, args.shortstr(h.consumer)))
	case methodQueueDeclare:
		rules := c.stub.rules()
		args.shortstr(QueueOrderPlaced).long(rules.messages).long(rules.consumers)
		c.send(methodFrame(h.channel, methodQueueDeclareOK, &args))
	default:
		if answer, ok := answers[h.method]; ok {
			c.send(methodFrame(h.channel, answer, nil))
		}
	}
}

// completePublish deals with a publication once its body is complete.
func (c *stubConn) completePublish() {
	if uint64(len(c.partial.body)) < c.size {
		return
	}
	p := *c.partial
	c.partial = nil
	c.published[p.channel]++
	p.number = c.published[p.channel]
	c.stub.happened <- happening{conn: c, channel: p.channel, method: methodPublish, publish: p}
	if publish := c.stub.rules().publish; publish != nil {
		publish(c, p)
		return
	}
	c.confirm(p.channel, p.number, false, true)
}
