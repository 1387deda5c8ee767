package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage/s3"
)

// authority signs certificates.
type authority struct {
	ts   *testscript.TestScript
	name string
	cert *x509.Certificate
	key  crypto.Signer
}

// newAuthority creates an authority, and writes its certificate to NAME.pem.
func newAuthority(ts *testscript.TestScript, name string) *authority {
	a := &authority{ts: ts, name: name}
	_, a.cert, a.key = a.sign(x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)})
	a.write(name+".pem", "CERTIFICATE", a.cert.Raw)
	return a
}

// sign signs a certificate by template; an authority without a certificate signs its own.
func (a *authority) sign(template x509.Certificate) (tls.Certificate, *x509.Certificate, crypto.Signer) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.ts.Check(err)
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: a.name}
	by, with := a.cert, a.key
	if by == nil {
		by, with = &template, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, &template, by, key.Public(), with)
	a.ts.Check(err)
	cert, err := x509.ParseCertificate(signed)
	a.ts.Check(err)
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, cert, key
}

func (a *authority) write(file, kind string, text []byte) {
	a.ts.Check(os.WriteFile(a.ts.MkAbs(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}), 0o600))
}

// server returns a certificate for a server on this machine.
func (a *authority) server(change func(*x509.Certificate)) tls.Certificate {
	template := x509.Certificate{
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(&template)
	pair, _, _ := a.sign(template)
	return pair
}

// client writes a client's certificate and its key to NAME.pem and NAME.key.
func (a *authority) client(name string) {
	_, cert, key := a.sign(x509.Certificate{NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	a.ts.Check(err)
	a.write(name+".pem", "CERTIFICATE", cert.Raw)
	a.write(name+".key", "PRIVATE KEY", secret)
}

// secured starts a bus and a store that require TLS. The bus requires a client certificate. Their
// addresses are $BUS and $STORE; $BUS_EXPIRED and $STORE_EXPIRED with an expired server
// certificate; $BUS_OTHER and $STORE_OTHER with that of another host; $STORE_HOST is $STORE without
// a scheme. ours.pem has signed all of them, and me.pem; theirs.pem has signed stranger.pem.
// $ACCESS_KEY and $SECRET_KEY are the store's, and its bucket is lab.
func secured(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: secured")
	}
	ours, theirs := newAuthority(ts, "ours"), newAuthority(ts, "theirs")
	ours.client("me")
	theirs.client("stranger")
	store, err := bucket.Start(context.Background(), bucket.Options{Dir: ts.MkAbs("store")})
	ts.Check(err)
	ts.Defer(func() { _ = store.Close() })
	client, err := s3.Open(context.Background(), s3.Config{Endpoint: store.Endpoint(), AccessKey: store.Credentials().AccessKey, SecretKey: store.Credentials().SecretKey})
	ts.Check(err)
	defer client.Close()
	ts.Check(client.EnsureBucket(context.Background(), "lab"))
	ts.Setenv("ACCESS_KEY", store.Credentials().AccessKey)
	ts.Setenv("SECRET_KEY", store.Credentials().SecretKey)
	for suffix, change := range map[string]func(*x509.Certificate){
		"": func(*x509.Certificate) {},
		"_EXPIRED": func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		},
		"_OTHER": func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"bus.example.com"} },
	} {
		pair := ours.server(change)
		ts.Setenv("BUS"+suffix, securedBus(ts, ours, pair))
		at := securedStore(ts, store.Endpoint(), pair)
		ts.Setenv("STORE"+suffix, at)
		ts.Setenv("STORE_HOST"+suffix, strings.TrimPrefix(at, "https://"))
	}
}

func securedBus(ts *testscript.TestScript, clients *authority, pair tls.Certificate) string {
	known := x509.NewCertPool()
	known.AddCert(clients.cert)
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "bus-")
	ts.Check(err)
	running, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir,
		TLS: true, TLSVerify: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: known, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12},
	})
	ts.Check(err)
	go running.Start()
	ts.Defer(func() { running.Shutdown(); running.WaitForShutdown() })
	if !running.ReadyForConnections(2 * time.Minute) {
		ts.Fatalf("the bus is not ready")
	}
	return "tls://" + running.Addr().String()
}

// securedStore is a proxy in front of a store that terminates TLS. It keeps the host name of
// requests, which is signed.
func securedStore(ts *testscript.TestScript, endpoint string, pair tls.Certificate) string {
	to, err := url.Parse(endpoint)
	ts.Check(err)
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}})
	proxy.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0) // the test causes disconnects of clients
	proxy.StartTLS()
	ts.Defer(proxy.Close)
	return proxy.URL
}
