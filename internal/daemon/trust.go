package daemon

import (
	"crypto/tls"
	"errors"
	"strings"
)

// isUntrusted says that a service was there and TLS with it is not to be had: its
// certificate is not to be trusted or not for that name, it does not speak TLS, or
// it does not like our certificate. Waiting does not mend that.
func isUntrusted(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
	)
	if errors.As(err, &certificate) || errors.As(err, &plain) {
		return true
	}
	// What has no type, or loses it on its way through a client library: an alert of
	// the other side, and how PostgreSQL's driver says that the server has no TLS.
	return strings.Contains(err.Error(), "remote error: tls: ") ||
		strings.Contains(err.Error(), "server refused TLS connection")
}
