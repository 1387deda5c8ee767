package publishers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/stoker-ml/stoker/events/jetstream"
)

// broker is a NATS server, with the environment that a publisher needs to connect.
type broker struct {
	bus *jetstream.Bus
	env []string
}

// trusting starts a server with TLS that admits clients with credentials of an operator, and
// refuses all others.
func trusting(t *testing.T) broker {
	t.Helper()
	operator, system, account := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	accounts := &server.MemAccResolver{}
	for _, a := range []key{system, account} {
		claims := jwt.NewAccountClaims(a.public)
		if a == account {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
		}
		must(t, accounts.Store(a.public, encode(t, claims, operator)))
	}
	trusted := jwt.NewOperatorClaims(operator.public)
	trusted.SystemAccount = system.public
	claims, err := jwt.DecodeOperatorClaims(encode(t, trusted, operator))
	must(t, err)
	options := &server.Options{TrustedOperators: []*jwt.OperatorClaims{claims}, AccountResolver: accounts, SystemAccount: system.public}
	url, ca := start(t, options)

	user := newKey(t, nkeys.CreateUser)
	seed, err := user.pair.Seed()
	must(t, err)
	text, err := jwt.FormatUserConfig(encode(t, jwt.NewUserClaims(user.public), account), seed)
	must(t, err)
	creds := filepath.Join(t.TempDir(), "upstream.creds")
	must(t, os.WriteFile(creds, text, 0o600))
	return broker{open(t, url, jetstream.Options{RootCA: ca, Creds: creds}), []string{"NATS_URL=" + url, "NATS_CA=" + ca, "NATS_CREDS=" + creds}}
}

// keyed starts a server with TLS that lets in one nkey.
func keyed(t *testing.T) broker {
	t.Helper()
	user := newKey(t, nkeys.CreateUser)
	url, ca := start(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: user.public}}})
	file := seedFile(t, user)
	return broker{
		open(t, url, jetstream.Options{RootCA: ca, NKey: file}),
		[]string{"NATS_URL=" + url, "NATS_CA=" + ca, "NATS_NKEY=" + file, "NATS_INBOX_PREFIX=_INBOX.upstream"},
	}
}

// wary starts a server that admits one nkey, which may publish only for the pipeline taxi. Its bus
// connects as another user.
func wary(t *testing.T) broker {
	t.Helper()
	user, admin := newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateUser)
	may := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"events.*.taxi.>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.upstream.>"}},
	}
	url, ca := start(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: user.public, Permissions: may}, {Nkey: admin.public}}})
	return broker{open(t, url, jetstream.Options{RootCA: ca, NKey: seedFile(t, admin)}),
		[]string{"NATS_URL=" + url, "NATS_CA=" + ca, "NATS_NKEY=" + seedFile(t, user), "NATS_INBOX_PREFIX=_INBOX.upstream"}}
}

// bare starts a server that lets in one nkey, and has no streams.
func bare(t *testing.T) (env []string) {
	t.Helper()
	user := newKey(t, nkeys.CreateUser)
	url, ca := start(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: user.public}}})
	return []string{"NATS_URL=" + url, "NATS_CA=" + ca, "NATS_NKEY=" + seedFile(t, user)}
}

func seedFile(t *testing.T, of key) string {
	t.Helper()
	seed, err := of.pair.Seed()
	must(t, err)
	file := filepath.Join(t.TempDir(), "seed.nk")
	must(t, os.WriteFile(file, seed, 0o600))
	return file
}

func open(t *testing.T, url string, opts jetstream.Options) *jetstream.Bus {
	t.Helper()
	opts.Create = true
	bus, err := jetstream.Connect(t.Context(), url, opts)
	must(t, err)
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

// start runs a server with a certificate of its own, and returns its address and the authority of
// its certificate.
func start(t *testing.T, options *server.Options) (url, ca string) {
	t.Helper()
	pair, ca := certificate(t)
	options.Host, options.Port, options.NoSigs, options.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	options.JetStream, options.StoreDir = true, t.TempDir()
	options.TLS, options.TLSConfig, options.TLSTimeout = true, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, 10
	nats, err := server.NewServer(options)
	must(t, err)
	go nats.Start()
	t.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(2 * time.Minute) {
		t.Fatal("bus is not ready")
	}
	return "tls://" + nats.Addr().String(), ca
}

// certificate returns one for 127.0.0.1 that vouches for itself.
func certificate(t *testing.T) (pair tls.Certificate, ca string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	text, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	must(t, err)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text}), 0o600))
	return tls.Certificate{Certificate: [][]byte{text}, PrivateKey: private}, ca
}

// key is a pair and its public half.
type key struct {
	pair   nkeys.KeyPair
	public string
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) key {
	t.Helper()
	pair, err := create()
	must(t, err)
	public, err := pair.PublicKey()
	must(t, err)
	return key{pair, public}
}

func encode(t *testing.T, claims jwt.Claims, by key) string {
	t.Helper()
	text, err := claims.Encode(by.pair)
	must(t, err)
	return text
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
