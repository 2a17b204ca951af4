// A checkout: it holds a coupon for a quote, places the order with the token of the quote, and pays.
// COUPONLEASE_AMQP_URL=amqp://user:password@host/vhost node checkout.mjs CODE ORDER [MILLISECONDS]
import { randomUUID } from 'node:crypto';
import amqp from 'amqplib';

const [code, order, patience = '10000'] = process.argv.slice(2);
const connection = await amqp.connect(process.env.COUPONLEASE_AMQP_URL);
const channel = await connection.createConfirmChannel();

// Answers come over the channel that asked, and reach nobody else. One that comes late or twice finds
// nobody waiting.
const waiting = new Map();
const hear = ({ properties, content }) => waiting.get(properties.correlationId)?.(JSON.parse(content));
await channel.consume('amq.rabbitmq.reply-to', hear, { noAck: true });

// What no queue takes comes back before it is confirmed.
const returned = new Set();
channel.on('return', ({ properties }) => returned.add(properties.messageId));

// publish ends once the broker has stored the message.
const publish = (exchange, type, messageId, data, more = {}) => new Promise((resolve, reject) => {
  const properties = {
    messageId, type, contentType: 'application/json', timestamp: Math.floor(Date.now() / 1000),
    headers: { 'cloudEvents:source': 'checkout' }, persistent: true, mandatory: true, ...more,
  };
  channel.publish(exchange, type, Buffer.from(JSON.stringify(data)), properties, (error) => {
    if (returned.delete(messageId)) reject(new Error(`no queue takes ${type}`));
    else if (error) reject(error);
    else resolve();
  });
});

// ask repeats a command that gets no answer. The idempotency key stays the same, so that nothing is
// done twice and the first answer comes again.
const ask = async (type, data, attempts = 20) => {
  const command = { idempotencyKey: randomUUID(), ...data };
  for (let attempt = 0; attempt < attempts; attempt++) {
    const correlationId = randomUUID();
    const answer = new Promise((resolve) => {
      waiting.set(correlationId, resolve);
      setTimeout(resolve, Number(patience)).unref();
    });
    const replyTo = 'amq.rabbitmq.reply-to';
    await publish('coupon.commands', type, randomUUID(), command, { correlationId, replyTo });
    const reply = await answer;
    waiting.delete(correlationId);
    if (reply) return reply;
  }
  throw new Error(`no answer to ${type} ${command.idempotencyKey}`);
};

const quote = await ask('coupon.lock.v1', { code, orderId: `quote-of-${order}`, leaseSeconds: 300 });
console.log(`${code}: ${quote.outcome}`);
if (quote.leaseToken) {
  const payable = { amount: 1999, currency: 'EUR' };
  const coupons = [{ code, leaseToken: quote.leaseToken }];
  await publish('commerce', 'order.placed.v1', `${order}/placed`, {
    orderId: order, customerId: 'customer-7', coupons, payable, occurredAt: new Date().toISOString(),
  });
  await publish('commerce', 'payment.succeeded.v1', `${order}/paid`, {
    orderId: order, paymentId: `payment-of-${order}`, amount: payable, occurredAt: new Date().toISOString(),
  });
  console.log(`${order}: placed and paid`);
}
await connection.close();
