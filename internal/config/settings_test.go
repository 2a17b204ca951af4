package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func unset(t *testing.T, variable string) {
	t.Helper()
	if err := os.Unsetenv(variable); err != nil {
		t.Fatal(err)
	}
}

func TestRedact(t *testing.T) {
	tests := []struct{ address, want string }{
		{"", ""},
		{"amqp://guest:secret@mq:5672/shop", "amqp://guest:xxxxx@mq:5672/shop"},
		{"postgres://u:secret@db/c?sslmode=disable&options=-csearch_path%3Dx",
			"postgres://u:xxxxx@db/c?options=-csearch_path%3Dx&sslmode=disable"},
		{"postgres://db/c?user=u&password=secret&sslpassword=secret",
			"postgres://db/c?password=xxxxx&sslpassword=xxxxx&user=xxxxx"},
		{"redis://:secret@cache:6379/0", "redis://:xxxxx@cache:6379/0"},
		{"postgres://u:sec%ret@db/c", "xxxxx"},
		{"host=db password=secret", "xxxxx"},
	}
	for _, test := range tests {
		if got := Redact(test.address); got != test.want {
			t.Errorf("Redact(%q) = %q, want %q", test.address, got, test.want)
		}
	}
}

func TestSettingsShowEverythingButSecrets(t *testing.T) {
	d := valid()
	d.PostgresURL = "postgres://u:secret@db/coupons"
	d.AMQPURL = "amqp://u:secret@mq/shop"
	d.AMQPManagementURL = "http://u:secret@mq:15672"
	d.RedisURL = "redis://:secret@cache:6379/0"
	settings := d.Settings()
	if want := len(flagsOf(&Daemon{})); len(settings) != want {
		t.Errorf("%d settings are shown, want %d", len(settings), want)
	}
	byName := map[string]Setting{}
	for _, s := range settings {
		byName[s.Name] = s
		if strings.Contains(s.Value, "secret") {
			t.Errorf("--%s shows a secret: %s", s.Name, s.Value)
		}
	}
	want := Setting{
		Name: "order-lease", Env: "COUPONLEASE_ORDER_LEASE", Value: "15m0s", Default: "15m",
		Allowed: "1s to 8760h", Meaning: "How long an order holds its coupons when it does not say itself.",
	}
	if diff := cmp.Diff(want, byName["order-lease"]); diff != "" {
		t.Errorf("order-lease (-want +got):\n%s", diff)
	}
	if got, want := byName["amqp-url"].Value, "amqp://u:xxxxx@mq/shop"; got != want {
		t.Errorf("amqp-url is shown as %q, want %q", got, want)
	}
}

func TestPostgresTrustsTheGivenAuthorities(t *testing.T) {
	tests := []struct {
		name string
		in   Services
		want string
	}{
		{"no file", Services{PostgresURL: "postgres://db/c?sslmode=require"}, "postgres://db/c?sslmode=require"},
		{"file", Services{PostgresURL: "postgres://db/c", PostgresCAFile: "/ca.pem"},
			"postgres://db/c?sslmode=verify-full&sslrootcert=%2Fca.pem"},
		{"file and mode", Services{PostgresURL: "postgres://db/c?sslmode=verify-ca", PostgresCAFile: "/ca.pem"},
			"postgres://db/c?sslmode=verify-ca&sslrootcert=%2Fca.pem"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.in.Postgres(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestVHost(t *testing.T) {
	tests := map[string]string{
		"amqp://mq": "/", "amqp://mq/": "/", "amqp://mq/shop": "shop", "amqp://mq/%2Fshop": "/shop",
	}
	for address, want := range tests {
		if got := (Services{AMQPURL: address}).VHost(); got != want {
			t.Errorf("virtual host of %s is %q, want %q", address, got, want)
		}
	}
}
