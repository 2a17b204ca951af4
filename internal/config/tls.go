package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// tlsFiles are what a service's TLS is made of.
type tlsFiles struct {
	// service is how the names of its settings begin.
	service       string
	ca, cert, key string
	// isUsed says that the address asks for TLS. Else hint is what to write there.
	isUsed bool
	hint   string
}

// mistake is what is wrong with one of the files.
type mistake struct{ setting, wrong string }

func (s Services) postgresFiles() tlsFiles {
	f := tlsFiles{
		service: "postgres", ca: s.PostgresCAFile, cert: s.PostgresCertFile, key: s.PostgresKeyFile, isUsed: true,
		hint: "--postgres-url does not insist on TLS; write sslmode=verify-full there, or no sslmode",
	}
	if u, err := url.Parse(s.PostgresURL); err == nil {
		switch u.Query().Get("sslmode") {
		case "disable", "allow", "prefer":
			f.isUsed = false
		}
	}
	return f
}

// brokerFiles takes an encrypted management API for use only where no broker is
// named: whoever sets the files does not expect the messages to go in clear text.
func (s Services) brokerFiles() tlsFiles {
	return tlsFiles{
		service: "amqp", ca: s.AMQPCAFile, cert: s.AMQPCertFile, key: s.AMQPKeyFile,
		isUsed: hasScheme(s.AMQPURL, "amqps") || s.AMQPURL == "" && hasScheme(s.AMQPManagementURL, "https"),
		hint:   "messages and password are not encrypted; write amqps:// in --amqp-url",
	}
}

func (s Services) redisFiles() tlsFiles {
	return tlsFiles{
		service: "redis", ca: s.RedisCAFile, cert: s.RedisCertFile, key: s.RedisKeyFile,
		isUsed: hasScheme(s.RedisURL, "rediss"),
		hint:   "the connection is not encrypted; write rediss:// in --redis-url",
	}
}

func hasScheme(address, scheme string) bool { return strings.HasPrefix(address, scheme+"://") }

// BrokerTLS is whom to trust and what to show on encrypted connections to
// RabbitMQ and its management API. The name to verify is left to whoever
// connects. An error names the setting and the file.
func (s Services) BrokerTLS() (*tls.Config, error) { return s.brokerFiles().config() }

// RedisTLS is the same for Redis.
func (s Services) RedisTLS() (*tls.Config, error) { return s.redisFiles().config() }

// CheckTLS reads the files of all services and returns an *Error that lists
// everything wrong with them, nil if nothing is.
func (s Services) CheckTLS() error {
	if mistakes := s.judgeTLS(nil); len(mistakes) > 0 {
		return &Error{Mistakes: mistakes}
	}
	return nil
}

// judgeTLS leaves out services of which a setting is known to be wrong already.
func (s Services) judgeTLS(faulty map[string]bool) (mistakes []string) {
	for _, files := range []tlsFiles{s.postgresFiles(), s.brokerFiles(), s.redisFiles()} {
		known := false
		for setting := range faulty {
			known = known || strings.HasPrefix(setting, files.service+"-")
		}
		if _, wrong := files.load(); wrong != nil && !known {
			mistakes = append(mistakes, wrong.String())
		}
	}
	return mistakes
}

// judgeTLS judges the files among the settings of a program.
func judgeTLS(flags []*kong.Flag, faulty map[string]bool) []string {
	texts := map[string]string{}
	for _, flag := range flags {
		if value, ok := flag.Target.Interface().(string); ok {
			texts[flag.Name] = value
		}
	}
	return Services{
		PostgresURL: texts["postgres-url"], PostgresCAFile: texts["postgres-ca-file"],
		PostgresCertFile: texts["postgres-cert-file"], PostgresKeyFile: texts["postgres-key-file"],
		AMQPURL: texts["amqp-url"], AMQPManagementURL: texts["amqp-management-url"], AMQPCAFile: texts["amqp-ca-file"],
		AMQPCertFile: texts["amqp-cert-file"], AMQPKeyFile: texts["amqp-key-file"],
		RedisURL: texts["redis-url"], RedisCAFile: texts["redis-ca-file"],
		RedisCertFile: texts["redis-cert-file"], RedisKeyFile: texts["redis-key-file"],
	}.judgeTLS(faulty)
}

func (f tlsFiles) config() (*tls.Config, error) {
	config, wrong := f.load()
	if wrong != nil {
		return nil, &Error{Mistakes: []string{wrong.String()}}
	}
	return config, nil
}

// String is the mistake in the words of all others.
func (m *mistake) String() string {
	variable := "COUPONLEASE_" + strings.ToUpper(strings.ReplaceAll(m.setting, "-", "_"))
	return fmt.Sprintf("--%s (%s): %s", m.setting, variable, m.wrong)
}

// load reads the files. Of what may be secret an error tells nothing.
func (f tlsFiles) load() (*tls.Config, *mistake) {
	wrong := func(file, format string, args ...any) *mistake {
		return &mistake{f.service + "-" + file + "-file", fmt.Sprintf(format, args...)}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case f.ca+f.cert+f.key == "":
		return config, nil
	case f.cert == "" && f.key != "":
		return nil, wrong("cert", "is not set, but the key is; set both or neither")
	case f.key == "" && f.cert != "":
		return nil, wrong("key", "is not set, but the certificate is; set both or neither")
	case !f.isUsed && f.ca != "":
		return nil, wrong("ca", "is set, but %s", f.hint)
	case !f.isUsed:
		return nil, wrong("cert", "is set, but %s", f.hint)
	}
	if f.ca != "" {
		content, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, wrong("ca", "%v", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, wrong("ca", "%s holds no certificate in PEM form", f.ca)
		}
	}
	if f.cert == "" {
		return config, nil
	}
	certificate, err := os.ReadFile(f.cert)
	if err != nil {
		return nil, wrong("cert", "%v", err)
	}
	if block, _ := pem.Decode(certificate); block == nil {
		return nil, wrong("cert", "%s holds no certificate in PEM form", f.cert)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return nil, wrong("key", "%v", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, wrong("key", "%s does not go with %s: %v", f.key, f.cert, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
