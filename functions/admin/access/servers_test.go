package access_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// TestMain also runs a module's process, and a versitygw with users in a process of its own,
// because it changes the working directory.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "module":
		os.Exit(module.Process(context.Background(), builtin.Module()))
	case len(os.Args) == 4 && os.Args[1] == "versitygw":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := serveStore(ctx, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// certificate writes a self-signed certificate for 127.0.0.1 and its key to dir.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	text, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: text}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// startBus runs a NATS server with the text of a configuration, as its operators do.
func startBus(t *testing.T, text string) *server.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("the server can't read this:\n%s\n%v", text, err)
	}
	options.Host, options.Port, options.NoSigs, options.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	nats, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go nats.Start()
	t.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(2 * time.Minute) {
		t.Fatal("bus is not ready")
	}
	return nats
}

const rootKey, rootSecret = "root-key", "root-secret-of-this-test"

// secretOf returns the secret of a user of the store.
func secretOf(user string) string { return user + "-secret-of-this-test" }

// serveStore runs versitygw over TLS on a directory, with a user for each role that uses the store.
func serveStore(ctx context.Context, dir, address string) error {
	data, attributes, users := filepath.Join(dir, "data"), filepath.Join(dir, "attributes"), filepath.Join(dir, "users")
	for _, folder := range []string{data, attributes, users} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
	}
	sidecar, err := meta.NewSideCar(attributes)
	if err != nil {
		return err
	}
	be, err := posix.New(data, sidecar, posix.PosixOpts{SideCarDir: attributes, CopyObjectThreshold: 5 << 30})
	if err != nil {
		return err
	}
	root := auth.Account{Access: rootKey, Secret: rootSecret, Role: auth.RoleAdmin}
	iam, err := auth.NewInternal(root, users)
	if err != nil {
		return err
	}
	for _, role := range access.Roles() {
		if err := iam.CreateAccount(auth.Account{Access: string(role), Secret: secretOf(string(role)), Role: auth.RoleUser}); err != nil {
			return err
		}
	}
	return embedgw.RunVersityGW(ctx, be, &embedgw.Config{
		RootUserAccess: rootKey, RootUserSecret: rootSecret, Ports: []string{address}, HealthPath: "/healthz", IAMService: iam,
		CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"),
		MaxConnections: 100, MaxRequests: 100, MultipartMaxParts: 10000, Quiet: true, KeepAlive: true,
	})
}

// objects is a store with a policy for each role.
type objects struct {
	endpoint, ca string
	// Credentials of a user; nil: its name and its secret.
	keys func(user, secret string) credentials.Value
}

// startObjects runs a store with buckets, each with the policy of all roles that may use it.
func startObjects(t *testing.T, at access.Place, buckets ...string) objects {
	t.Helper()
	dir := t.TempDir()
	cert, _ := certificate(t, dir)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := objects{endpoint: "https://" + listener.Addr().String(), ca: cert}
	listener.Close()
	program := exec.CommandContext(t.Context(), os.Args[0], "versitygw", dir, listener.Addr().String())
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	program.WaitDelay = 10 * time.Second
	program.Stderr = t.Output()
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Wait() }) // t.Context has ended by then
	trusted, client := o.transport(t)
	for !healthy(t, client, o.endpoint+"/healthz") {
		time.Sleep(10 * time.Millisecond)
	}
	admin, err := minio.New(o.endpoint[len("https://"):], &minio.Options{
		Creds: credentials.NewStaticV4(rootKey, rootSecret, ""), Secure: true, Transport: trusted, Region: "us-east-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	policies := map[string]access.Policy{}
	for _, role := range access.Roles() {
		if policy, err := role.Policy(at); err == nil { // otherwise it does not use the store
			policies[string(role)] = policy
		}
	}
	for _, bucket := range buckets {
		if err := admin.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{}); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(access.BucketPolicy(bucket, policies))
		if err != nil {
			t.Fatal(err)
		}
		if err := admin.SetBucketPolicy(t.Context(), bucket, string(text)); err != nil {
			t.Fatalf("the store does not take this policy: %v\n%s", err, text)
		}
	}
	return o
}

func (o objects) transport(t *testing.T) (*http.Transport, *http.Client) {
	t.Helper()
	text, err := os.ReadFile(o.ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport, &http.Client{Transport: transport, Timeout: time.Second}
}

func healthy(t *testing.T, client *http.Client, url string) bool {
	t.Helper()
	if err := t.Context().Err(); err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(url)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (o objects) credentials(user, secret string) credentials.Value {
	if o.keys != nil {
		return o.keys(user, secret)
	}
	return credentials.Value{AccessKeyID: user, SecretAccessKey: secret}
}

// as opens the store as one of its users.
func (o objects) as(t *testing.T, user, secret string) *s3.Store {
	t.Helper()
	key := o.credentials(user, secret)
	store, err := s3.Open(t.Context(), s3.Config{
		Endpoint: o.endpoint, RootCA: o.ca, AccessKey: key.AccessKeyID, SecretKey: key.SecretAccessKey, SessionToken: key.SessionToken, MaxTries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// put writes a small object.
func put(ctx context.Context, store storage.Store, ref storage.Ref) error {
	_, err := store.Put(ctx, ref, bytes.NewReader([]byte("text")), 4)
	return err
}
