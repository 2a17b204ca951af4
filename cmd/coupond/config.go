package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"couponlease/internal/config"
)

type configCommand struct {
	Output string `short:"o" enum:"text,json" default:"text" help:"How the settings are written: ${enum}."`
}

// Run prints the settings.
func (c configCommand) Run(cfg *config.Daemon, stdout io.Writer) error {
	settings := cfg.Settings()
	if c.Output == "json" {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(settings)
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tDEFAULT\tALLOWED\tVARIABLE")
	for _, s := range settings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Name, dash(s.Value), dash(s.Default), dash(s.Allowed), s.Env)
	}
	return table.Flush()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
