package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/config"
	"couponlease/internal/fleet"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// encrypted is a whole stack that speaks nothing but TLS to us, and wants our
// certificate.
type encrypted struct {
	space    *fleet.Space
	services config.Services
	// The programs: that of the operator, and the daemon.
	operator, daemon string
}

func newEncrypted(t *testing.T) *encrypted {
	t.Helper()
	authority := testkit.NewAuthority(t)
	stack := testkit.PrivateTLSStack(t, authority,
		testkit.ServicePostgres, testkit.ServiceRabbitMQ, testkit.ServiceRedis)
	mine := authority.Client(t, "coupond")
	e := &encrypted{
		// What fleet would prepare over connections of its own, the operator's program does.
		space: &fleet.Space{
			PostgresURL: stack.PostgresURL, TokenKeys: strings.Repeat("ab", 32),
			Broker: testkit.Broker{URL: stack.AMQPURL, ManagementURL: stack.ManagementURL, VHost: "/"},
		},
		services: config.Services{
			PostgresURL: stack.PostgresURL, AMQPURL: stack.AMQPURL, AMQPManagementURL: stack.ManagementURL,
			RedisURL:       stack.RedisURL,
			PostgresCAFile: authority.CAFile, PostgresCertFile: mine.CertFile, PostgresKeyFile: mine.KeyFile,
			AMQPCAFile: authority.CAFile, AMQPCertFile: mine.CertFile, AMQPKeyFile: mine.KeyFile,
			RedisCAFile: authority.CAFile, RedisCertFile: mine.CertFile, RedisKeyFile: mine.KeyFile,
		},
		operator: filepath.Join(t.TempDir(), "couponctl"), daemon: fleet.Binary(t),
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", e.operator, "couponlease/cmd/couponctl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build couponctl: %v\n%s", err, out)
	}
	return e
}

// flags are the settings of services on a command line.
func flags(s config.Services) []string {
	return []string{
		"--postgres-url=" + s.PostgresURL, "--postgres-ca-file=" + s.PostgresCAFile,
		"--postgres-cert-file=" + s.PostgresCertFile, "--postgres-key-file=" + s.PostgresKeyFile,
		"--amqp-url=" + s.AMQPURL, "--amqp-management-url=" + s.AMQPManagementURL, "--amqp-ca-file=" + s.AMQPCAFile,
		"--amqp-cert-file=" + s.AMQPCertFile, "--amqp-key-file=" + s.AMQPKeyFile,
		"--redis-url=" + s.RedisURL, "--redis-ca-file=" + s.RedisCAFile,
		"--redis-cert-file=" + s.RedisCertFile, "--redis-key-file=" + s.RedisKeyFile,
	}
}

// ctl runs the operator's program and gives what it says and whether it is content.
func (e *encrypted) ctl(t *testing.T, s config.Services, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), e.operator, append(args, flags(s)...)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

func (e *encrypted) must(t *testing.T, args ...string) {
	t.Helper()
	if out, err := e.ctl(t, e.services, args...); err != nil {
		t.Fatalf("couponctl %s: %v\n%s", args[0], err, out)
	}
}

// TestEverythingOverTLS: both programs work with PostgreSQL, RabbitMQ, its
// management API and Redis over TLS, each side with a certificate; and neither
// works with a server or without a certificate that is not right.
func TestEverythingOverTLS(t *testing.T) {
	e := newEncrypted(t)
	rows := filepath.Join(t.TempDir(), "coupons.csv")
	content := "code,template,owner,valid_from,valid_until,batch\nSAFE,spring,,,,\n"
	if err := os.WriteFile(rows, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	e.must(t, "migrate", "up")
	e.must(t, "topology", "apply")
	e.must(t, "topology", "diff")
	e.must(t, "coupons", "import", "--define-template", rows)
	process := fleet.Start(t, e.daemon, e.space, append(flags(e.services), "--topology=verify")...)
	e.redeemAtTill(t, "till-1", "SAFE")
	testkit.Eventually(t, time.Minute, "the coupon is locked for the till", func() (bool, string) {
		out, err := e.ctl(t, e.services, "timeline", "SAFE")
		return err == nil && strings.Contains(out, messages.RedeemNumber("till-1")), out
	})
	if asked, err := process.Metric(telemetry.RequestsRemembered); err != nil || asked == 0 {
		t.Errorf("Redis was asked %v times, %v", asked, err)
	}
	if away, err := process.Metric(telemetry.RedisAway); err != nil || away != 0 {
		t.Errorf("Redis is away: %v, %v", away, err)
	}
	services := e.services
	services.PostgresCertFile, services.PostgresKeyFile = "", ""
	if out, err := e.ctl(t, services, "migrate", "status"); err == nil || !strings.Contains(out, "certificate") {
		t.Errorf("couponctl without a certificate: %v\n%s", err, out)
	}
	process.Signal(t, syscall.SIGTERM)
	if code := process.Wait(t, time.Minute); code != 0 {
		t.Errorf("coupond ends with code %d", code)
	}
	t.Run("refused", e.refuses)
	if password := "couponlease:couponlease"; strings.Contains(process.Log(), password) {
		t.Error("the log shows a password")
	}
}

// redeemAtTill asks as a till does.
func (e *encrypted) redeemAtTill(t *testing.T, request, code string) {
	t.Helper()
	trust, err := e.services.BrokerTLS()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := amqp.Connect(amqp.ConnConfig{URL: e.services.AMQPURL, TLS: trust, Name: "till"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	publisher := amqp.NewPublisher(conn, amqp.PublisherConfig{})
	defer publisher.Close()
	body, err := json.Marshal(messages.RedeemRequested{RequestID: request, Code: code, OccurredAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range publisher.PublishBatch(t.Context(), []amqp.Publication{{
		Exchange: amqp.ExchangeCommands, Key: messages.TypeRedeemRequested, Type: messages.TypeRedeemRequested,
		ID: request, ContentType: "application/json", Timestamp: time.Now(), Mandatory: true, Body: body,
	}}) {
		if err != nil {
			t.Fatalf("ask as a till: %v", err)
		}
	}
}

// refuses tries the daemon with each service not to be trusted.
func (e *encrypted) refuses(t *testing.T) {
	stranger := testkit.NewAuthority(t)
	for name, test := range map[string]struct {
		change func(*config.Services)
		says   string
	}{
		"PostgreSQL of another authority":    {func(s *config.Services) { s.PostgresCAFile = stranger.CAFile }, "PostgreSQL is there, but"},
		"PostgreSQL without our certificate": {func(s *config.Services) { s.PostgresCertFile, s.PostgresKeyFile = "", "" }, "PostgreSQL refuses"},
		"RabbitMQ of another authority":      {func(s *config.Services) { s.AMQPCAFile = stranger.CAFile }, "RabbitMQ is there, but"},
		"RabbitMQ without our certificate":   {func(s *config.Services) { s.AMQPCertFile, s.AMQPKeyFile = "", "" }, "RabbitMQ is there, but"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := e.services
			test.change(&services)
			process := fleet.Launch(t, e.daemon, e.space, flags(services)...)
			if code := process.Wait(t, time.Minute); code != 1 {
				t.Errorf("coupond ends with code %d", code)
			}
			if log := process.Log(); !strings.Contains(log, test.says) || !strings.Contains(log, "certificate") {
				t.Errorf("coupond does not say that %s, and nothing of certificates:\n%s", test.says, log)
			}
		})
	}
	t.Run("Redis of another authority", func(t *testing.T) {
		t.Parallel()
		// Redis only spares the database work: without it everything goes on.
		services := e.services
		services.RedisCAFile = stranger.CAFile
		process := fleet.Start(t, e.daemon, e.space, flags(services)...)
		e.redeemAtTill(t, "till-2", "SAFE")
		testkit.Eventually(t, time.Minute, "the till's request is worked on", func() (bool, string) {
			committed, err := process.Metric(telemetry.RequestsCommitted)
			return committed > 0, fmt.Sprint(committed, err)
		})
	})
}
