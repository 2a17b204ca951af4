// Package fleet runs the product as users do, for the end-to-end tests and the
// benchmark: real processes on a schema and a virtual host of their own, and
// traffic through the broker whose right end is known.
package fleet
