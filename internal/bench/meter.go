package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Names of the processes whose CPU time is told apart.
const (
	cpuWorker   = "worker" // coupond, or this program where it stands in for it
	cpuPostgres = "postgres"
	cpuRabbitMQ = "rabbitmq"
	cpuRedis    = "redis"
)

// meter reads what a measurement costs.
type meter struct {
	db       *database
	rabbitmq int
	// redis is 0 where it has nothing to do with the work.
	redis int
	// worker is 0 as long as this program itself does the work.
	worker int
}

// reading is the state of all counters at one moment.
type reading struct {
	at  time.Time
	cpu map[string]time.Duration
	wal float64
}

func (m meter) read(ctx context.Context) (reading, error) {
	r := reading{at: time.Now(), cpu: map[string]time.Duration{}}
	worker := m.worker
	if worker == 0 {
		worker = os.Getpid()
	}
	var err error
	if r.cpu[cpuWorker], err = cpuOf(worker); err != nil {
		return r, fmt.Errorf("worker: %w", err)
	}
	if r.cpu[cpuPostgres], err = cpuOfFamily(m.db.postmaster); err != nil {
		return r, fmt.Errorf("PostgreSQL: %w", err)
	}
	if r.cpu[cpuRabbitMQ], err = cpuOf(m.rabbitmq); err != nil {
		return r, fmt.Errorf("RabbitMQ: %w", err)
	}
	if m.redis != 0 {
		if r.cpu[cpuRedis], err = cpuOf(m.redis); err != nil {
			return r, fmt.Errorf("Redis: %w", err)
		}
	}
	r.wal, err = m.db.wal(ctx)
	return r, err
}

// Measurement is one arm in one round.
type Measurement struct {
	Arm   string `json:"arm"`
	Round int    `json:"round"`
	// Messages were answered in Seconds, after the warm-up.
	Messages int     `json:"messages"`
	Seconds  float64 `json:"seconds"`
	// Rate is in messages a second; 0 when there are Faults.
	Rate      float64 `json:"rate"`
	MeanBatch float64 `json:"meanBatch"`
	// CPU is in microseconds a message, by process.
	CPU     map[string]float64 `json:"cpuMicrosecondsPerMessage"`
	WAL     float64            `json:"walBytesPerMessage"`
	Commits float64            `json:"commitsPerMessage"`
	HOT     float64            `json:"hotShare"`
	// CouponUpdates and LedgerRows are rows a command, in the arms about hot coupons.
	CouponUpdates float64 `json:"couponUpdatesPerCommand,omitempty"`
	LedgerRows    float64 `json:"ledgerRowsPerCommand,omitempty"`
	// Reads and Writes are what the database was asked for, a message, of the tables that
	// claims write, Bypassed is the share of claims that went past Redis because it did not
	// answer in time, and Book is what was written there; in the arms about claims.
	Reads    float64 `json:"readsPerMessage,omitempty"`
	Writes   float64 `json:"writesPerMessage,omitempty"`
	Bypassed float64 `json:"bypassedShare,omitempty"`
	Book     *book   `json:"book,omitempty"`
	// PeakMemory is that of the worker, in bytes; 0 where this program stood in.
	PeakMemory int64 `json:"peakMemoryBytes"`
	// Events were confirmed by the broker and found in its queue at the end.
	Events int      `json:"events"`
	Faults []string `json:"faults,omitempty"`
}

// between fills in what happened from one reading to another.
func (m *Measurement) between(from, to reading, messages int) {
	m.Messages = messages
	m.Seconds = to.at.Sub(from.at).Seconds()
	m.Rate = float64(messages) / m.Seconds
	m.CPU = map[string]float64{}
	for name := range to.cpu {
		m.CPU[name] = float64((to.cpu[name] - from.cpu[name]).Microseconds()) / float64(messages)
	}
	m.WAL = (to.wal - from.wal) / float64(messages)
}

// fault notes what makes the rate worthless.
func (m *Measurement) fault(format string, args ...any) {
	m.Faults = append(m.Faults, fmt.Sprintf(format, args...))
	m.Rate = 0
}
