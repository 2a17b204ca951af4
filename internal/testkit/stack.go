package testkit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A Service is one part of the stack.
type Service string

// The services of the stack.
const (
	ServicePostgres Service = "postgres"
	ServiceRabbitMQ Service = "rabbitmq"
	ServiceRedis    Service = "redis"
)

// Stack is a set of services that belongs to one test, which may therefore stop them. The URL of a service that was not
// asked for is empty, or reaches nothing.
type Stack struct {
	PostgresURL   string
	AMQPURL       string
	ManagementURL string
	RedisURL      string

	script string
	state  string
}

// PrivateStack starts services for this test alone, which takes some seconds, and deletes them when it ends. Their data
// survives Stop, Kill and Start.
func PrivateStack(t testing.TB, services ...Service) *Stack {
	t.Helper()
	s := newStack(t)
	s.begin(t, services)
	return s
}

func newStack(t testing.TB) *Stack {
	t.Helper()
	root := moduleRoot(t)
	s := &Stack{
		script: filepath.Join(root, "deploy", "dev", "stack.sh"),
		// Below the main stack's directory: `make down` clears away what a killed test has left.
		state: filepath.Join(root, ".dev", "private", uniqueName(t)),
	}
	t.Cleanup(func() { s.command(t, "wipe") })
	return s
}

func (s *Stack) begin(t testing.TB, services []Service) {
	t.Helper()
	for _, service := range services {
		s.Start(t, service)
	}
	urls := exported(t, strings.NewReader(s.command(t, "env")))
	s.PostgresURL, s.RedisURL = urls[postgresVariable], urls[redisVariable]
	s.AMQPURL, s.ManagementURL = urls[amqpVariable], urls[managementVariable]
}

// Start starts a service and waits until it is ready; one that runs is left alone.
func (s *Stack) Start(t testing.TB, service Service) {
	t.Helper()
	s.command(t, "start-"+string(service))
}

// Stop stops a service the orderly way and waits until it is gone.
func (s *Stack) Stop(t testing.TB, service Service) {
	t.Helper()
	s.command(t, "stop-"+string(service))
}

// Kill ends a service as a crash would and waits until it is gone.
func (s *Stack) Kill(t testing.TB, service Service) {
	t.Helper()
	s.command(t, "kill-"+string(service))
}

// command runs deploy/dev/stack.sh on this stack and returns what it printed to standard output.
func (s *Stack) command(t testing.TB, name string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.Command(s.script, name)
	command.Stdout, command.Stderr = &stdout, &stderr
	for _, variable := range os.Environ() {
		// The URLs and ports of the main stack must not reach this one.
		if !strings.HasPrefix(variable, "COUPONLEASE_") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, "COUPONLEASE_DEV_STATE="+s.state)
	if err := command.Run(); err != nil {
		t.Fatalf("stack.sh %s: %v\n%s", name, err, &stderr)
	}
	return stdout.String()
}
