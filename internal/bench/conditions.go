package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"couponlease/internal/testkit"
)

// Conditions are what the figures hold for.
type Conditions struct {
	At         time.Time `json:"at"`
	Commit     string    `json:"commit"`
	Kernel     string    `json:"kernel"`
	CPU        string    `json:"cpu"`
	Cores      int       `json:"cores"`
	Memory     int64     `json:"memoryBytes"`
	FileSystem string    `json:"fileSystem"`
	// Flush is how long 8 KiB take to the disk, in microseconds.
	Flush      spread    `json:"flushMicroseconds"`
	Go         string    `json:"go"`
	PostgreSQL string    `json:"postgresql"`
	Settings   []setting `json:"postgresqlSettings"`
	RabbitMQ   string    `json:"rabbitmq"`
}

func readConditions(t testing.TB) Conditions {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	c := Conditions{
		At: time.Now().UTC().Truncate(time.Second), Commit: commit(ctx), Kernel: firstLine("/proc/sys/kernel/osrelease"),
		CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), Go: runtime.Version(),
	}
	var kib int64
	if _, err := fmt.Sscan(field("/proc/meminfo", "MemTotal"), &kib); err == nil {
		c.Memory = kib << 10
	}
	var err error
	c.FileSystem, c.Flush, err = measureFlush()
	must(t, err, "measure the disk")
	db, err := openDatabase(ctx, testkit.Postgres(t))
	must(t, err, "look at the database")
	defer func() { must(t, db.close(ctx), "leave the database") }()
	must(t, db.conn.QueryRow(ctx, "show server_version").Scan(&c.PostgreSQL), "ask for the version")
	c.Settings, err = db.settings(ctx)
	must(t, err, "look at the database")
	node, err := readNode(ctx, testkit.RabbitMQ(t))
	must(t, err, "look at the broker")
	c.RabbitMQ = fmt.Sprintf("%s on Erlang %s", node.Version, node.Erlang)
	return c
}

// commit is the revision that is measured, with a plus when files differ from it.
func commit(ctx context.Context) string {
	revision, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(revision))
	if changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output(); err != nil || len(changes) > 0 {
		name += "+"
	}
	return name
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// field is the first value of a name in a file of the form "name : value".
func field(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// flushes is how often the disk is asked.
const flushes = 300

// measureFlush writes 8 KiB and waits for the disk, again and again, as a commit
// does. It measures where the working directory is, which is where the private
// services keep their data unless they had to move.
func measureFlush() (fileSystem string, took spread, err error) {
	dir := "."
	if moved, err := os.ReadFile(filepath.Join(".dev", "data-dir")); err == nil {
		dir = strings.TrimSpace(string(moved))
	}
	file, err := os.CreateTemp(dir, "flush-")
	if err != nil {
		return "", took, fmt.Errorf("make a file to flush: %w", err)
	}
	defer func() {
		// The file is of no interest any more, and neither is its end.
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	page := make([]byte, 8<<10)
	var all []float64
	for range flushes {
		begin := time.Now()
		if _, err := file.WriteAt(page, 0); err != nil {
			return "", took, fmt.Errorf("write to the disk: %w", err)
		}
		if err := file.Sync(); err != nil {
			return "", took, fmt.Errorf("flush to the disk: %w", err)
		}
		all = append(all, float64(time.Since(begin).Microseconds()))
	}
	slices.Sort(all)
	// The slowest hundredth is other people's work.
	return mounted(dir), spreadOf(all[:len(all)-len(all)/100]), nil
}

// mounted names the file system of a directory.
func mounted(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "unknown"
	}
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "unknown"
	}
	var longest, kind string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		point := fields[1]
		below := path == point || strings.HasPrefix(path, strings.TrimSuffix(point, "/")+"/")
		if below && len(point) >= len(longest) {
			longest, kind = point, fields[2]
		}
	}
	return kind
}
