package store

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// planLife is how long the plans of a connection are kept under steady work.
const planLife = time.Minute

// planning says when the plans of one connection have to be made anew.
//
// PostgreSQL keeps the generic plan of a prepared statement until statistics change.
// A plan made after an ANALYZE of an empty table walks through the whole table, for it
// costs nothing, and goes on doing so while the table grows to a million rows before
// anybody looks again. So plans are made anew whenever a connection has done twice as
// much as before, and once in a while: a few milliseconds each time.
type planning struct {
	// done counts the transactions with the present plans, after most of which they
	// are discarded.
	done, most int
	at         time.Time
}

const planningKey = "couponlease planning"

func keepPlanning(conn *pgx.Conn, now time.Time) {
	conn.PgConn().CustomData()[planningKey] = &planning{most: 1, at: now}
}

// due is asked once for each transaction.
func (p *planning) due(now time.Time) bool {
	if p.done++; p.done <= p.most && now.Sub(p.at) < planLife {
		return false
	}
	p.done, p.most, p.at = 1, 2*p.most, now
	return true
}

// replan discards the plans of the connection when they are due.
func (tx *transaction) replan(t *trip) {
	p, known := tx.conn.Conn().PgConn().CustomData()[planningKey].(*planning)
	if known && p.due(time.Now()) {
		t.exec("plan anew", discardPlansSQL)
	}
}
