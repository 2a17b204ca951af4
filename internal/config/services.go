package config

import (
	"net/url"
	"strings"
)

// Services says where PostgreSQL, RabbitMQ and Redis are, and what lease tokens are
// made from. The daemon and the
// operator's tool share it.
type Services struct {
	PostgresURL string `name:"postgres-url" env:"COUPONLEASE_POSTGRES_URL" placeholder:"URL" redact:"" form:"url" schemes:"postgres postgresql" needed:"postgres://user:password@host:5432/database" help:"PostgreSQL, as postgres://user:password@host:5432/database?sslmode=verify-full."`

	PostgresCAFile string `name:"postgres-ca-file" env:"COUPONLEASE_POSTGRES_CA_FILE" placeholder:"FILE" form:"file" help:"PEM file of the authorities trusted for PostgreSQL; given one, the server's name is verified unless the URL has an sslmode of its own. Empty: what the URL says."`

	PostgresCertFile string `name:"postgres-cert-file" env:"COUPONLEASE_POSTGRES_CERT_FILE" placeholder:"FILE" form:"file" help:"PEM file of the certificate that is shown to PostgreSQL. Empty: none."`

	PostgresKeyFile string `name:"postgres-key-file" env:"COUPONLEASE_POSTGRES_KEY_FILE" placeholder:"FILE" form:"file" help:"PEM file of that certificate's key, not encrypted."`

	AMQPURL string `name:"amqp-url" env:"COUPONLEASE_AMQP_URL" placeholder:"URL" redact:"" form:"url" schemes:"amqp amqps" needed:"amqp://user:password@host:5672/vhost" help:"RabbitMQ, as amqps://user:password@host:5671/vhost."`

	AMQPManagementURL string `name:"amqp-management-url" env:"COUPONLEASE_AMQP_MANAGEMENT_URL" placeholder:"URL" redact:"" form:"url" schemes:"http https" help:"RabbitMQ's management API, as https://user:password@host:15671. Empty: bindings are not compared when the broker layout is verified."`

	AMQPCAFile string `name:"amqp-ca-file" env:"COUPONLEASE_AMQP_CA_FILE" placeholder:"FILE" form:"file" help:"PEM file of the authorities trusted for amqps, and for https of the management API. Empty: those of the system."`

	AMQPCertFile string `name:"amqp-cert-file" env:"COUPONLEASE_AMQP_CERT_FILE" placeholder:"FILE" form:"file" help:"PEM file of the certificate that is shown to RabbitMQ. Empty: none."`

	AMQPKeyFile string `name:"amqp-key-file" env:"COUPONLEASE_AMQP_KEY_FILE" placeholder:"FILE" form:"file" help:"PEM file of that certificate's key, not encrypted."`

	RedisURL string `name:"redis-url" env:"COUPONLEASE_REDIS_URL" placeholder:"URL" redact:"" form:"url" schemes:"redis rediss" help:"Redis, as rediss://user:password@host:6379/0. Empty: repeated requests of tills and claims are answered by the database alone."`

	RedisPrefix string `name:"redis-prefix" env:"COUPONLEASE_REDIS_PREFIX" default:"couponlease:" form:"prefix" help:"What all keys in Redis begin with. Installations that share a Redis need different ones; the replicas of one need the same."`

	Tokens `embed:""`

	RedisCAFile string `name:"redis-ca-file" env:"COUPONLEASE_REDIS_CA_FILE" placeholder:"FILE" form:"file" help:"PEM file of the authorities trusted for rediss. Empty: those of the system."`

	RedisCertFile string `name:"redis-cert-file" env:"COUPONLEASE_REDIS_CERT_FILE" placeholder:"FILE" form:"file" help:"PEM file of the certificate that is shown to Redis. Empty: none."`

	RedisKeyFile string `name:"redis-key-file" env:"COUPONLEASE_REDIS_KEY_FILE" placeholder:"FILE" form:"file" help:"PEM file of that certificate's key, not encrypted."`
}

// Postgres is the database's URL with the authorities to trust and the
// certificate to show. Given any, the server's name is verified unless the URL
// has an sslmode of its own.
func (s Services) Postgres() string {
	u, err := url.Parse(s.PostgresURL)
	if err != nil || s.PostgresCAFile+s.PostgresCertFile == "" {
		return s.PostgresURL
	}
	query := u.Query()
	for parameter, file := range map[string]string{
		"sslrootcert": s.PostgresCAFile, "sslcert": s.PostgresCertFile, "sslkey": s.PostgresKeyFile,
	} {
		if file != "" {
			query.Set(parameter, file)
		}
	}
	if !query.Has("sslmode") {
		query.Set("sslmode", "verify-full")
	}
	// libpq, unlike forms, does not take a plus for a space.
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return u.String()
}

// VHost is the virtual host that the broker's URL names, "/" by default.
func (s Services) VHost() string {
	u, err := url.Parse(s.AMQPURL)
	if err != nil || len(u.Path) < 2 {
		return "/"
	}
	return u.Path[1:]
}
