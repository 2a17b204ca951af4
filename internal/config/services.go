package config

import (
	"net/url"
)

// Services says where PostgreSQL, RabbitMQ and Redis are, and what lease tokens are
// made from. The daemon and the
// operator's tool share it.
type Services struct {
	PostgresURL string `name:"postgres-url" env:"COUPONLEASE_POSTGRES_URL" placeholder:"URL" redact:"" form:"url" schemes:"postgres postgresql" needed:"postgres://user:password@host:5432/database" help:"PostgreSQL, as postgres://user:password@host:5432/database?sslmode=verify-full."`

	PostgresCAFile string `name:"postgres-ca-file" env:"COUPONLEASE_POSTGRES_CA_FILE" placeholder:"FILE" form:"file" help:"PEM file of the authorities trusted for PostgreSQL; given one, the server's name is verified unless the URL has an sslmode of its own. Empty: what the URL says."`

	AMQPURL string `name:"amqp-url" env:"COUPONLEASE_AMQP_URL" placeholder:"URL" redact:"" form:"url" schemes:"amqp amqps" needed:"amqp://user:password@host:5672/vhost" help:"RabbitMQ, as amqps://user:password@host:5671/vhost."`

	AMQPManagementURL string `name:"amqp-management-url" env:"COUPONLEASE_AMQP_MANAGEMENT_URL" placeholder:"URL" redact:"" form:"url" schemes:"http https" help:"RabbitMQ's management API, as https://user:password@host:15671. Empty: bindings are not compared when the broker layout is verified."`

	AMQPCAFile string `name:"amqp-ca-file" env:"COUPONLEASE_AMQP_CA_FILE" placeholder:"FILE" form:"file" help:"PEM file of the authorities trusted for amqps. Empty: those of the system."`

	RedisURL string `name:"redis-url" env:"COUPONLEASE_REDIS_URL" placeholder:"URL" redact:"" form:"url" schemes:"redis rediss" help:"Redis, as rediss://user:password@host:6379/0. Empty: claims are answered by the database alone."`

	Tokens `embed:""`
}

// Postgres is the database's URL with the authorities to trust.
func (s Services) Postgres() string {
	u, err := url.Parse(s.PostgresURL)
	if err != nil || s.PostgresCAFile == "" {
		return s.PostgresURL
	}
	query := u.Query()
	query.Set("sslrootcert", s.PostgresCAFile)
	if !query.Has("sslmode") {
		query.Set("sslmode", "verify-full")
	}
	u.RawQuery = query.Encode()
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
