package amqp

import (
	"crypto/tls"
	"errors"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// brokerTLS checks the broker's URL and returns what TLS it asks for, nil for
// none. The server's name is always verified, and it is that of the URL unless
// the base has one.
func brokerTLS(address string, base *tls.Config) (*tls.Config, error) {
	uri, err := amqp091.ParseURI(address)
	if err != nil {
		// The cause would quote the URL, and with it the password.
		return nil, errors.New("broker URL is not of the form amqp://user:password@host:port/vhost")
	}
	if uri.Scheme != "amqps" {
		return nil, nil
	}
	config := atLeastTLS12(base)
	config.ServerName = orDefault(config.ServerName, uri.Host)
	return config, nil
}

func atLeastTLS12(base *tls.Config) *tls.Config {
	config := base.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	return config
}

// explained adds to an error what it means, where that is not plain.
func explained(err error) error {
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return fmt.Errorf("the server does not speak TLS there: %w", err)
	}
	return err
}
