// Package deadletter keeps the messages that could not be applied: it files them from
// the broker into the database, and replays them from there.
//
// A letter is one message, however often it failed. Its identity is message id, queue
// and body, so a message that fails again after a replay is the same letter with one
// more attempt. The broker's copy is acknowledged when the letter is committed, and not
// before.
//
// A replay is a job over a snapshot of letters. Nothing about it is in memory: each step
// is one transaction, which any replica may take, and which puts the messages into the
// outbox that it marks as sent. So a replica may die at any moment, and no letter is
// submitted twice. The outcome of each letter is recorded by whoever settles its message,
// before the message is acknowledged, or by the filing of its next failure.
package deadletter
