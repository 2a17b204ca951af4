// Package demo shows the product at work on real services: two daemons, a day of
// traffic through the broker with everything that goes wrong on such a day, and
// the incident that the product exists for. It ends with a proof over the whole
// database, and with an error if anything is off.
package demo
