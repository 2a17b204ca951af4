// Package reconcile compares what is with what should be, and asks the engine to
// make it so. It never changes anything itself.
//
// Its Sweeper is the backstop of the timers: what the broker's delayed message
// has not brought about a while after the deadline, a walk over the database
// finds. Both ask under the same message id, so that the second of them finds
// the first one's answer.
package reconcile
