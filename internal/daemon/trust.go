package daemon

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
)

// isUntrusted says that a service was there and TLS with it is not to be had: its
// certificate is not to be trusted or not for that name, it does not speak TLS, or
// it does not like our certificate. Waiting does not mend that.
func isUntrusted(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
		answer      *net.OpError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &plain):
		return true
	case errors.As(err, &answer) && answer.Op == "remote error":
		return true // how crypto/tls names an alert of the other side
	default:
		// How the driver says that PostgreSQL was asked for TLS and has none.
		return strings.Contains(err.Error(), "server refused TLS connection")
	}
}
