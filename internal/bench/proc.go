package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which the kernel tells CPU time: USER_HZ, 100 on every
// platform that Go runs on.
const tick = time.Second / 100

// process is what the kernel tells about one process.
type process struct {
	parent int
	// own is the CPU time of the process, reaped that of the children it has
	// waited for.
	own, reaped time.Duration
}

func readProcess(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return parseProcess(string(text))
}

// parseProcess reads a stat line. The command name may hold blanks and brackets:
// the fields are counted after its closing bracket.
func parseProcess(text string) (process, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	// The state is field 3 of the line and the first here.
	const parent, user, most = 4 - 3, 14 - 3, 17 - 3
	if len(fields) <= most {
		return process{}, fmt.Errorf("read a process line: %d fields", len(fields))
	}
	var values [5]int64
	for i, place := range []int{parent, user, user + 1, user + 2, most} {
		value, err := strconv.ParseInt(fields[place], 10, 64)
		if err != nil {
			return process{}, fmt.Errorf("read a process line: %w", err)
		}
		values[i] = value
	}
	return process{
		parent: int(values[0]),
		own:    time.Duration(values[1]+values[2]) * tick,
		reaped: time.Duration(values[3]+values[4]) * tick,
	}, nil
}

// cpuOf is the CPU time that a process has used.
func cpuOf(pid int) (time.Duration, error) {
	p, err := readProcess(pid)
	return p.own, err
}

// cpuOfFamily is the CPU time that a process and its children, living and dead,
// have used.
func cpuOfFamily(pid int) (time.Duration, error) {
	head, err := readProcess(pid)
	if err != nil {
		return 0, err
	}
	total := head.own + head.reaped
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		// One that has ended meanwhile is in reaped the next time.
		if p, err := readProcess(child); err == nil && p.parent == pid {
			total += p.own + p.reaped
		}
	}
	return total, nil
}

// peakMemory is the most resident memory that a process has had, in bytes, and
// memory what it has now.
func peakMemory(pid int) (int64, error) { return memoryLine(pid, "VmHWM:") }
func memory(pid int) (int64, error)     { return memoryLine(pid, "VmRSS:") }

func memoryLine(pid int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("the kernel does not tell %s of process %d", strings.TrimSuffix(name, ":"), pid)
}
