package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/testkit"
)

func TestPostgresURLTakesFiles(t *testing.T) {
	tests := []struct {
		name string
		in   Services
		want string
	}{
		{"certificate", Services{PostgresURL: "postgres://db/c", PostgresCertFile: "/c.pem", PostgresKeyFile: "/k.pem"},
			"postgres://db/c?sslcert=%2Fc.pem&sslkey=%2Fk.pem&sslmode=verify-full"},
		{"all", Services{
			PostgresURL: "postgres://db/c", PostgresCAFile: "/ca.pem", PostgresCertFile: "/c.pem", PostgresKeyFile: "/k.pem",
		}, "postgres://db/c?sslcert=%2Fc.pem&sslkey=%2Fk.pem&sslmode=verify-full&sslrootcert=%2Fca.pem"},
		{"a space and a plus", Services{PostgresURL: "postgres://db/c?options=-c%20a=1%2B1", PostgresCAFile: "/ca.pem"},
			"postgres://db/c?options=-c%20a%3D1%2B1&sslmode=verify-full&sslrootcert=%2Fca.pem"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.in.Postgres(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// files are a good set of files, and some that are not.
type files struct {
	ca, cert, key, otherKey, empty, missing string
}

func newFiles(t *testing.T) files {
	t.Helper()
	authority := testkit.NewAuthority(t)
	mine, other := authority.Client(t, "mine"), authority.Client(t, "other")
	f := files{
		ca: authority.CAFile, cert: mine.CertFile, key: mine.KeyFile, otherKey: other.KeyFile,
		empty: filepath.Join(t.TempDir(), "empty.pem"), missing: "/no/such/file",
	}
	if err := os.WriteFile(f.empty, []byte("s3cret, but no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTLSIsReadFromFiles(t *testing.T) {
	f := newFiles(t)
	s := Services{
		AMQPURL: "amqps://mq", AMQPCAFile: f.ca, AMQPCertFile: f.cert, AMQPKeyFile: f.key,
		RedisURL: "rediss://cache", RedisCAFile: f.ca,
	}
	if err := s.CheckTLS(); err != nil {
		t.Fatal(err)
	}
	broker, err := s.BrokerTLS()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(f.ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(content)
	if !broker.RootCAs.Equal(pool) || len(broker.Certificates) != 1 || broker.MinVersion != tls.VersionTLS12 {
		t.Errorf("RabbitMQ: %d certificates of our own, least version %x", len(broker.Certificates), broker.MinVersion)
	}
	redis, err := s.RedisTLS()
	if err != nil || !redis.RootCAs.Equal(pool) || len(redis.Certificates) != 0 || redis.MinVersion != tls.VersionTLS12 {
		t.Errorf("Redis: %+v, %v", redis, err)
	}
	// Without files it is the system that says whom to trust.
	redis, err = Services{RedisURL: "rediss://cache"}.RedisTLS()
	if err != nil || redis.RootCAs != nil || redis.MinVersion != tls.VersionTLS12 {
		t.Errorf("Redis without files: %+v, %v", redis, err)
	}
}

func TestTLSFilesThatCannotBeUsed(t *testing.T) {
	f := newFiles(t)
	tests := []struct {
		name string
		in   Services
		want string // "" is no mistake
	}{
		{"nothing", Services{}, ""},
		{"no encryption wanted", Services{AMQPURL: "amqp://mq", RedisURL: "redis://cache"}, ""},
		{"missing", Services{AMQPURL: "amqps://mq", AMQPCAFile: f.missing},
			"--amqp-ca-file (COUPONLEASE_AMQP_CA_FILE): open /no/such/file: no such file or directory"},
		{"no certificate in it", Services{PostgresURL: "postgres://db/c", PostgresCAFile: f.empty},
			"--postgres-ca-file (COUPONLEASE_POSTGRES_CA_FILE): " + f.empty + " holds no certificate in PEM form"},
		{"key as authority", Services{RedisURL: "rediss://cache", RedisCAFile: f.key},
			"--redis-ca-file (COUPONLEASE_REDIS_CA_FILE): " + f.key + " holds no certificate in PEM form"},
		{"certificate alone", Services{AMQPURL: "amqps://mq", AMQPCertFile: f.cert},
			"--amqp-key-file (COUPONLEASE_AMQP_KEY_FILE): is not set, but the certificate is; set both or neither"},
		{"key alone", Services{PostgresURL: "postgres://db/c", PostgresKeyFile: f.key},
			"--postgres-cert-file (COUPONLEASE_POSTGRES_CERT_FILE): is not set, but the key is; set both or neither"},
		{"empty certificate", Services{RedisURL: "rediss://cache", RedisCertFile: f.empty, RedisKeyFile: f.key},
			"--redis-cert-file (COUPONLEASE_REDIS_CERT_FILE): " + f.empty + " holds no certificate in PEM form"},
		{"missing key", Services{RedisURL: "rediss://cache", RedisCertFile: f.cert, RedisKeyFile: f.missing},
			"--redis-key-file (COUPONLEASE_REDIS_KEY_FILE): open /no/such/file: no such file or directory"},
		{"another's key", Services{AMQPURL: "amqps://mq", AMQPCertFile: f.cert, AMQPKeyFile: f.otherKey},
			"--amqp-key-file (COUPONLEASE_AMQP_KEY_FILE): " + f.otherKey + " does not go with " + f.cert +
				": tls: private key does not match public key"},
		{"plain broker", Services{AMQPURL: "amqp://mq", AMQPCAFile: f.ca},
			"--amqp-ca-file (COUPONLEASE_AMQP_CA_FILE): is set, but messages and password are not encrypted; write amqps:// in --amqp-url"},
		{"plain broker, encrypted management", Services{
			AMQPURL: "amqp://mq", AMQPManagementURL: "https://mq", AMQPCAFile: f.ca,
		}, "--amqp-ca-file (COUPONLEASE_AMQP_CA_FILE): is set, but messages and password are not encrypted; write amqps:// in --amqp-url"},
		{"plain broker, encrypted management, certificate to show", Services{
			AMQPURL: "amqp://mq", AMQPManagementURL: "https://mq", AMQPCertFile: f.cert, AMQPKeyFile: f.key,
		}, "--amqp-cert-file (COUPONLEASE_AMQP_CERT_FILE): is set, but messages and password are not encrypted; write amqps:// in --amqp-url"},
		{"encrypted broker, plain management", Services{
			AMQPURL: "amqps://mq", AMQPManagementURL: "http://mq", AMQPCAFile: f.ca,
		}, ""},
		{"plain broker, encrypted management, no files", Services{AMQPURL: "amqp://mq", AMQPManagementURL: "https://mq"}, ""},
		{"encrypted management alone", Services{AMQPManagementURL: "https://mq", AMQPCAFile: f.ca}, ""},
		{"plain Redis", Services{RedisURL: "redis://cache", RedisCertFile: f.cert, RedisKeyFile: f.key},
			"--redis-cert-file (COUPONLEASE_REDIS_CERT_FILE): is set, but the connection is not encrypted; write rediss:// in --redis-url"},
		{"PostgreSQL that may be plain", Services{PostgresURL: "postgres://db/c?sslmode=prefer", PostgresCAFile: f.ca},
			"--postgres-ca-file (COUPONLEASE_POSTGRES_CA_FILE): is set, but --postgres-url does not insist on TLS; " +
				"write sslmode=verify-full there, or no sslmode"},
		{"PostgreSQL that is not verified by name", Services{PostgresURL: "postgres://db/c?sslmode=verify-ca", PostgresCAFile: f.ca}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got string
			if err := test.in.CheckTLS(); err != nil {
				var wrong *Error
				if !errors.As(err, &wrong) || len(wrong.Mistakes) != 1 {
					t.Fatalf("got %v, want one mistake", err)
				}
				got = wrong.Mistakes[0]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mistake (-want +got):\n%s", diff)
			}
			if strings.Contains(got, "s3cret") {
				t.Errorf("it shows what the file holds: %s", got)
			}
		})
	}
}

// The daemon reports them with all other mistakes, and none twice.
func TestTLSMistakesAreAmongAllMistakes(t *testing.T) {
	clean(t)
	f := newFiles(t)
	_, err := parse(t, "--postgres-url=postgres://db/c", "--amqp-url=amqps://mq", "--batch=0", "--amqp-ca-file", f.empty,
		"--redis-url=rediss://cache", "--redis-ca-file", f.missing)
	var wrong *Error
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v, want an *Error", err)
	}
	want := []string{
		"--redis-ca-file (COUPONLEASE_REDIS_CA_FILE): stat /no/such/file: no such file or directory; name a file that can be read",
		"--batch (COUPONLEASE_BATCH): 0 is out of range; use 1 to 4096",
		"--amqp-ca-file (COUPONLEASE_AMQP_CA_FILE): " + f.empty + " holds no certificate in PEM form",
	}
	if diff := cmp.Diff(want, wrong.Mistakes); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}
