// Package testkit gives every integration test a corner of the real services for itself: a schema in PostgreSQL, a
// virtual host in RabbitMQ, a key prefix in Redis. All of it is deleted when the test ends.
//
// The services are found by URL: COUPONLEASE_POSTGRES_URL, COUPONLEASE_AMQP_URL, COUPONLEASE_AMQP_MANAGEMENT_URL and
// COUPONLEASE_REDIS_URL from the environment, else from the .dev/env that `make up` writes beside go.mod. A service
// that is not there fails the test and names the command that starts it; nothing is skipped.
//
// Tests that take a service down use [PrivateStack], so that tests of other packages, which run at the same time, keep
// theirs.
package testkit
