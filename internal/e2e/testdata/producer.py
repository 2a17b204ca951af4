"""Publishes one order and its payment as plain JSON, as a service in any language would.

Usage: producer.py AMQP_URL ORDER COUPON
"""
import json
import sys
from datetime import datetime, timezone

import pika

url, order, coupon = sys.argv[1:]
connection = pika.BlockingConnection(pika.URLParameters(url))
channel = connection.channel()
channel.confirm_delivery()


def publish(key, message_id, body):
    body["occurredAt"] = datetime.now(timezone.utc).isoformat()
    channel.basic_publish(
        exchange="commerce",
        routing_key=key,
        body=json.dumps(body),
        properties=pika.BasicProperties(
            message_id=message_id,
            content_type="application/json",
            delivery_mode=2,
            headers={"attempt": 1, "retry": False, "tags": ["a", "b"]},
        ),
        mandatory=True,
    )


money = {"amount": 1999, "currency": "EUR"}
publish("order.placed.v1", order + "/placed", {
    "orderId": order, "customerId": "u1", "coupons": [{"code": coupon}], "payable": money,
})
publish("payment.succeeded.v1", order + "/paid", {
    "orderId": order, "paymentId": "pay-" + order, "amount": money,
})
connection.close()
