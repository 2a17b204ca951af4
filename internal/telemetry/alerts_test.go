package telemetry

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

type alert struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alerts(t *testing.T) []alert {
	t.Helper()
	text, err := os.ReadFile("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string  `yaml:"name"`
			Rules []alert `yaml:"rules"`
		} `yaml:"groups"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, group := range file.Groups {
		if group.Name == "" || len(group.Rules) == 0 {
			t.Fatalf("group %+v", group)
		}
		all = append(all, group.Rules...)
	}
	return all
}

// TestAlertsNameWhatThereIs: their metrics are in the table, the values of their labels
// are faults, and their runbooks are sections of OPERATIONS.md.
func TestAlertsNameWhatThereIs(t *testing.T) {
	faults := append(coupon.OwnFaults(), coupon.UpstreamFaults()...)
	sections := runbooks(t)
	names := map[string]bool{}
	for _, rule := range alerts(t) {
		if names[rule.Alert] || rule.Annotations["summary"] == "" || rule.Labels["severity"] == "" {
			t.Errorf("%+v lacks something or is there twice", rule)
		}
		names[rule.Alert] = true
		if _, err := time.ParseDuration(rule.For); err != nil {
			t.Errorf("%s: %v", rule.Alert, err)
		}
		metrics := regexp.MustCompile(`couponlease_\w+`).FindAllString(rule.Expr, -1)
		for _, name := range metrics {
			if !slices.ContainsFunc(Table(), func(m Metric) bool { return m.Name == name && m.Kind != Histogram }) {
				t.Errorf("%s: there is no metric %s", rule.Alert, name)
			}
		}
		for _, label := range regexp.MustCompile(`fault=~?"([^"]+)"`).FindAllStringSubmatch(rule.Expr, -1) {
			for _, fault := range strings.Split(label[1], "|") {
				if !slices.Contains(faults, coupon.Fault(fault)) {
					t.Errorf("%s: there is no fault %s", rule.Alert, fault)
				}
			}
		}
		anchor, linked := strings.CutPrefix(rule.Annotations["runbook_url"], "OPERATIONS.md#")
		if len(metrics) == 0 || !linked || !sections[anchor] {
			t.Errorf("%s asks %d metrics, and its runbook is %q", rule.Alert, len(metrics), rule.Annotations["runbook_url"])
		}
	}
}

// TestEveryGateHasAnAlertAndARunbook: what a release asks is what wakes people.
func TestEveryGateHasAnAlertAndARunbook(t *testing.T) {
	linked := map[string]bool{}
	for _, rule := range alerts(t) {
		if anchor := strings.TrimPrefix(rule.Annotations["runbook_url"], "OPERATIONS.md#"); strings.HasPrefix(anchor, "gate-") {
			linked[anchor] = true
		}
	}
	sections := runbooks(t)
	gates := reconcile.DefaultThresholds().Judge(reconcile.Figures{})
	for _, gate := range gates {
		if !linked[gate.Runbook] || !sections[gate.Runbook] {
			t.Errorf("gate %s: alert %t, runbook %t", gate.Name, linked[gate.Runbook], sections[gate.Runbook])
		}
	}
	if len(gates) != len(linked) {
		t.Errorf("%d gates, alerts about %d", len(gates), len(linked))
	}
}

// TestAlertsAskWhatGatesCount: an alert about a gate names the faults that the gate counts.
func TestAlertsAskWhatGatesCount(t *testing.T) {
	asked := map[string][]string{}
	for _, rule := range alerts(t) {
		gate := strings.TrimPrefix(rule.Annotations["runbook_url"], "OPERATIONS.md#gate-")
		for _, label := range regexp.MustCompile(`fault=~?"([^"]+)"`).FindAllStringSubmatch(rule.Expr, -1) {
			asked[gate] = append(asked[gate], strings.Split(label[1], "|")...)
		}
	}
	for _, gate := range reconcile.DefaultThresholds().Judge(reconcile.Figures{}) {
		var counted []string
		for _, fault := range reconcile.GateFaults(gate.Name) {
			counted = append(counted, string(fault))
		}
		slices.Sort(counted)
		slices.Sort(asked[gate.Name])
		if !slices.Equal(counted, asked[gate.Name]) {
			t.Errorf("gate %s counts %v, its alert %v", gate.Name, counted, asked[gate.Name])
		}
	}
}

// T22 and T56: what the broker and the database do not bound by themselves has an alert:
// dead letters, filed or not, and a transaction that keeps dead rows.
func TestT22T56WhatGrowsHasAnAlert(t *testing.T) {
	rules := alerts(t)
	for _, metric := range []string{DeadLettersOpen, DeadQueue, OldestSnapshot, Undeliverable} {
		if !slices.ContainsFunc(rules, func(rule alert) bool { return strings.Contains(rule.Expr, metric) }) {
			t.Errorf("no alert asks %s", metric)
		}
	}
}

// What claims lose with Redis has an alert: its stocks, its answers, and the way round it.
func TestClaimsWithoutRedisHaveAnAlert(t *testing.T) {
	rules := alerts(t)
	for _, metric := range []string{QuotaDrifts, QuotaAway, ClaimsBypassed} {
		if !slices.ContainsFunc(rules, func(rule alert) bool { return strings.Contains(rule.Expr, metric) }) {
			t.Errorf("no alert asks %s", metric)
		}
	}
}

// runbooks are the sections of OPERATIONS.md, by their anchors.
func runbooks(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		sections[strings.ReplaceAll(strings.ToLower(match[1]), " ", "-")] = true
	}
	return sections
}
