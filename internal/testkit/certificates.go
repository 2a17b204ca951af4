package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates that are good for one test.
type Authority struct {
	// CAFile is the PEM file of its own certificate.
	CAFile string
	// Pool trusts the authority and nobody else.
	Pool *x509.CertPool

	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Certificate is a certificate with its key, as files and loaded.
type Certificate struct {
	CertFile, KeyFile string
	TLS               tls.Certificate
}

// lifetime of what an authority signs, from an hour ago on.
const lifetime = 24 * time.Hour

// NewAuthority makes an authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir(), key: newKey(t), Pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + t.Name()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der := sign(t, template, template, &a.key.PublicKey, a.key)
	var err error
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatalf("read the authority's certificate: %v", err)
	}
	a.Pool.AddCert(a.certificate)
	a.CAFile = a.write(t, "ca.pem", "CERTIFICATE", der)
	return a
}

// Server signs the certificate of a server with these host names and addresses.
func (a *Authority) Server(t testing.TB, hosts ...string) Certificate {
	t.Helper()
	return a.issue(t, "server", hosts, time.Now().Add(lifetime), x509.ExtKeyUsageServerAuth)
}

// Expired is Server with a certificate that was good until a minute ago.
func (a *Authority) Expired(t testing.TB, hosts ...string) Certificate {
	t.Helper()
	return a.issue(t, "expired", hosts, time.Now().Add(-time.Minute), x509.ExtKeyUsageServerAuth)
}

// Client signs the certificate of a client.
func (a *Authority) Client(t testing.TB, name string) Certificate {
	t.Helper()
	return a.issue(t, name, nil, time.Now().Add(lifetime), x509.ExtKeyUsageClientAuth)
}

func (a *Authority) issue(
	t testing.TB, name string, hosts []string, until time.Time, usage x509.ExtKeyUsage,
) Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatalf("choose a serial number: %v", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key := newKey(t)
	der := sign(t, template, a.certificate, &key.PublicKey, a.key)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatalf("encode a key: %v", err)
	}
	name += "-" + serial.Text(36)
	return Certificate{
		CertFile: a.write(t, name+".pem", "CERTIFICATE", der),
		KeyFile:  a.write(t, name+".key", "PRIVATE KEY", secret),
		TLS:      tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
	}
}

func (a *Authority) write(t testing.TB, name, kind string, content []byte) string {
	t.Helper()
	file := filepath.Join(a.dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatalf("sign a certificate: %v", err)
	}
	return der
}
