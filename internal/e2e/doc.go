// Package e2e shows the product end to end: real processes, real services, and
// faults while they work. It holds tests only.
package e2e
