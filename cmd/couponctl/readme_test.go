package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands that the README shows work as they stand, in its order.
func TestCommandsOfTheReadmeWork(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	onPostgres(t)
	onRabbitMQ(t)
	file := filepath.Join(t.TempDir(), "f.csv")
	rows := "code,template,owner,valid_from,valid_until,batch\nSPRING,spring,,,,\n"
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	var ran int
	for line := range strings.Lines(string(text)) {
		command, _, _ := strings.Cut(line, "#")
		words := strings.Fields(command)
		if len(words) < 2 || words[0] != "couponctl" {
			continue
		}
		for i := range words {
			if words[i] == "f.csv" {
				words[i] = file
			}
		}
		ctl(t, words[1:]...).want(t, exitOK)
		ran++
	}
	if ran < 5 {
		t.Errorf("the README shows %d commands of couponctl, the test found fewer than it should", ran)
	}
}
