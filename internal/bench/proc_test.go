package main

import (
	"os"
	"testing"
	"time"
)

func TestParseProcess(t *testing.T) {
	const line = "42 (a (b) c) S 7 42 42 0 -1 4194560 100 200 0 0 150 50 30 20 20 0 1 0 12345 1000000 500 " +
		"18446744073709551615 1 1 0 0 0 0\n"
	got, err := parseProcess(line)
	if want := (process{parent: 7, own: 2 * time.Second, reaped: 500 * time.Millisecond}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := parseProcess("42 (x) S 7"); err == nil {
		t.Error("a line that is too short was read")
	}
}

func TestProcessesAreReadFromTheKernel(t *testing.T) {
	p, err := readProcess(os.Getpid())
	if err != nil || p.parent != os.Getppid() {
		t.Errorf("got %+v, %v, want parent %d", p, err, os.Getppid())
	}
	now, err := memory(os.Getpid())
	if err != nil || now < 1<<20 {
		t.Errorf("this process has %d bytes, %v", now, err)
	}
	if peak, err := peakMemory(os.Getpid()); err != nil || peak < 1<<20 {
		t.Errorf("this process had at most %d bytes, %v", peak, err)
	}
	if _, err := readProcess(-1); err == nil {
		t.Error("a process that does not exist was read")
	}
}
