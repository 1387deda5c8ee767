package jetstream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

func dialURL(url string) (*nats.Conn, error) { return nats.Connect(url) }

// runServer runs a separate server on a free port, and returns its address.
func runServer(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, t.TempDir()
	running, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go running.Start()
	t.Cleanup(func() { running.Shutdown(); running.WaitForShutdown() })
	if !running.ReadyForConnections(2 * time.Minute) {
		t.Fatal("bus is not ready")
	}
	return "nats://" + running.Addr().String()
}

// papers returns a self-signed certificate for servers and clients, and its key, as PEM files.
func papers(t *testing.T) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stoker"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pair, err = tls.LoadX509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
	return cert, key, pair
}

func TestAServerThatAsksForCertificates(t *testing.T) {
	t.Parallel()
	cert, key, pair := papers(t)
	trusted := x509.NewCertPool()
	signed, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	trusted.AddCert(signed)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	url := runServer(t, &server.Options{TLS: true, TLSVerify: true, TLSConfig: config, TLSTimeout: 5})
	found, err := jetstream.Survey(t.Context(), url, jetstream.Options{RootCA: cert, Cert: cert, Key: key})
	if err != nil || !found.TLS {
		t.Errorf("with papers: %+v, %v", found, err)
	}
	for name, opts := range map[string]jetstream.Options{
		"no certificate":        {RootCA: cert},
		"a server of nobody's":  {Cert: cert, Key: key},
		"files that aren't":     {RootCA: cert, Cert: "nowhere.pem", Key: key},
		"certificates in Greek": {RootCA: "connect_test.go"},
	} {
		if _, err := jetstream.Survey(t.Context(), url, opts); err == nil {
			t.Errorf("%s: it connects", name)
		}
	}
}

func TestTLSBeforeTheFirstWord(t *testing.T) {
	t.Parallel()
	cert, _, pair := papers(t)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	url := runServer(t, &server.Options{TLS: true, TLSConfig: config, TLSHandshakeFirst: true, TLSTimeout: 5})
	if _, err := jetstream.Survey(t.Context(), url, jetstream.Options{RootCA: cert, TLSFirst: true}); err != nil {
		t.Error(err)
	}
}

func TestUsersAndTokens(t *testing.T) {
	t.Parallel()
	users := runServer(t, &server.Options{Users: []*server.User{{Username: "me", Password: "mine"}}})
	token := runServer(t, &server.Options{Authorization: "secret"})
	for name, tc := range map[string]struct {
		url  string
		opts jetstream.Options
		want error
	}{
		"a user":           {users, jetstream.Options{User: "me", Password: "mine"}, nil},
		"another password": {users, jetstream.Options{User: "me", Password: "yours"}, events.ErrRefused},
		"a token":          {token, jetstream.Options{Token: "secret"}, nil},
		"another token":    {token, jetstream.Options{Token: "guess"}, events.ErrRefused},
	} {
		if _, err := jetstream.Survey(t.Context(), tc.url, tc.opts); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}
