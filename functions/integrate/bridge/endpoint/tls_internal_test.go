package endpoint

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events/bustest"
)

// authority signs certificates.
type authority struct {
	*testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{T: t}
	a.cert, a.key = a.sign(x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) sign(template x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "test"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	by, with := a.cert, a.key
	if by == nil {
		by, with = &template, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, &template, by, key.Public(), with)
	if err != nil {
		a.Fatal(err)
	}
	cert, err := x509.ParseCertificate(signed)
	if err != nil {
		a.Fatal(err)
	}
	return cert, key
}

// issue returns a certificate for one end of a connection.
func (a *authority) issue() tls.Certificate {
	cert, key := a.sign(x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// write writes the authority and a server's certificate to files in dir.
func (a *authority) write(dir string) TLS {
	a.Helper()
	pair := a.issue()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		a.Fatal(err)
	}
	files := TLS{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt")}
	for name, block := range map[string]*pem.Block{
		files.Cert: {Type: "CERTIFICATE", Bytes: pair.Leaf.Raw}, files.Key: {Type: "PRIVATE KEY", Bytes: key}, files.ClientCA: {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			a.Fatal(err)
		}
	}
	return files
}

const testEvent = `{"specversion":"1.0","type":"dev.stoker.transform.ready.v1","id":"1","source":"/etl","subject":"penguin","run":"r","data":{"transform_graph":"s3://data/g"}}`

// status returns the status of an event from a client that trusts an authority and has
// certificates, or 0 if there is none.
func status(t *testing.T, address string, trusts *authority, has ...tls.Certificate) int {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(trusts.cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: has}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/", strings.NewReader(testEvent))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/cloudevents+json")
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Log(err)
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

func TestClientsWithoutACertificateOfTheAuthorityAreNotHeard(t *testing.T) {
	t.Parallel()
	ours, theirs, dir := newAuthority(t), newAuthority(t), t.TempDir()
	files := ours.write(dir)
	config, err := files.read()
	if err != nil {
		t.Fatal(err)
	}
	clock := make(chan time.Time, 1) // the time for the next connection
	clock <- time.Now()
	now := func() time.Time { at := <-clock; clock <- at; return at }
	used := &tlsFiles{TLS: files, logger: slog.New(slog.DiscardHandler), now: now, config: config, read: now()}
	e, err := New(bustest.NewMemory(time.Second), Options{Certificates: true})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Serve(ctx, listener, used.server()) }()
	address := listener.Addr().String()
	mine, stranger := ours.issue(), theirs.issue()
	for name, c := range map[string]struct {
		has  []tls.Certificate
		want int
	}{"of the authority": {[]tls.Certificate{mine}, 202}, "of another": {[]tls.Certificate{stranger}, 0}, "none": {nil, 0}} {
		if got := status(t, address, ours, c.has...); got != c.want {
			t.Errorf("a certificate, %s: %d, want %d", name, got, c.want)
		}
	}

	// Replaced files are used from the next connection on, after rereadTime; bad ones never.
	later := func(d time.Duration) { at := <-clock; clock <- at.Add(d) }
	theirs.write(dir)
	if got := status(t, address, ours, mine); got != 202 {
		t.Errorf("before the files are read again: %d", got)
	}
	later(rereadTime)
	if got := status(t, address, theirs, stranger); got != 202 {
		t.Errorf("the new authority: %d", got)
	}
	if got := status(t, address, theirs, mine); got != 0 {
		t.Errorf("the former authority: %d", got)
	}
	if err := os.WriteFile(files.Key, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	later(rereadTime)
	if got := status(t, address, theirs, stranger); got != 202 {
		t.Errorf("with a file that is torn: %d", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFilesThatAreNoCertificatesAreNamed(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	for name, change := range map[string]func(*TLS){
		"ca.crt: expected certificates": func(f *TLS) { must(t, os.WriteFile(f.ClientCA, []byte("x"), 0o600)) },
		"nowhere":                       func(f *TLS) { f.Cert = "nowhere" },
		"tls.key":                       func(f *TLS) { must(t, os.WriteFile(f.Key, []byte("x"), 0o600)) },
	} {
		files := ours.write(t.TempDir())
		change(&files)
		if _, err := files.Config(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %s", err, name)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
