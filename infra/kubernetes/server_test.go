package kubernetes_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	address    = "https://127.0.0.1:6443"
	adminToken = "admin" // of a server that only this network namespace reaches
	readyTime  = 2 * time.Minute
)

// binaries is the folder of build.sh.
var binaries = "../../bin/kubernetes"

// server is an API server with its etcd, and clients of its administrator.
type server struct {
	dir        string // of logs, data and configuration
	kubeconfig string
	config     *rest.Config
	kube       *kubernetes.Clientset
	dynamic    dynamic.Interface
	mapper     *restmapper.DeferredDiscoveryRESTMapper
	namespaced func() ([]schema.GroupVersionResource, error) // listable, once
}

// start starts etcd and an API server, and defines the custom resources. Both end with the first
// process of their namespace.
func start(dir string) (*server, error) {
	s := &server{dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := s.configure(); err != nil {
		return nil, err
	}
	ended := make(chan error, 2)
	if err := s.run(ended, "etcd", "--data-dir", s.path("etcd"), "--unsafe-no-fsync", "--log-level", "warn"); err != nil {
		return nil, err
	}
	err := s.run(ended, "kube-apiserver",
		"--etcd-servers", "http://127.0.0.1:2379", "--secure-port", "6443", "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
		"--endpoint-reconciler-type", "none", // an endpoint can't be a loopback address
		"--cert-dir", s.path("certs"), "--token-auth-file", s.path("tokens"), "--authorization-mode", "RBAC",
		"--service-account-issuer", address, "--service-account-key-file", s.path("key.pem"), "--service-account-signing-key-file", s.path("key.pem"),
		"--service-cluster-ip-range", "10.96.0.0/16",
		"--audit-policy-file", s.path("audit.yaml"), "--audit-log-path", s.path("audit.log"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if err := s.ready(ctx, ended); err != nil {
		return nil, fmt.Errorf("%w\n%s\n%s", err, s.log("etcd"), s.log("kube-apiserver"))
	}
	return s, s.define(ctx)
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

// configure writes the files that the API server reads. Requests are logged once they are answered.
func (s *server) configure() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"key.pem":    string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})),
		"tokens":     adminToken + ",admin,admin,system:masters\n",
		"audit.yaml": "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n",
	} {
		if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	s.config = &rest.Config{
		Host: address, BearerToken: adminToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.path("certs/apiserver.crt")},
	}
	file := clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{"test": {Server: address, CertificateAuthority: s.path("certs/apiserver.crt")}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"admin": {Token: adminToken}},
		Contexts:  map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "admin"}}, CurrentContext: "test",
	}
	return clientcmd.WriteToFile(file, s.kubeconfig)
}

// run starts a program with a log. When it ends, ended gets the reason.
func (s *server) run(ended chan<- error, program string, args ...string) error {
	log, err := os.Create(s.path(program + ".log"))
	if err != nil {
		return err
	}
	path, err := filepath.Abs(filepath.Join(binaries, program))
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: infra/kubernetes/build.sh bin/kubernetes builds it", err)
	}
	go func() { ended <- fmt.Errorf("%s ended: %v", program, errors.Join(cmd.Wait(), log.Close())) }()
	return nil
}

// connect makes the clients. The server must have written its certificate.
func (s *server) connect() (err error) {
	if s.kube, err = kubernetes.NewForConfig(s.config); err != nil {
		return err
	}
	s.namespaced = sync.OnceValues(s.listable)
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.kube.Discovery()))
	s.dynamic, err = dynamic.NewForConfig(s.config)
	return err
}

// ready connects, and waits until the server answers that it is ready.
func (s *server) ready(ctx context.Context, ended <-chan error) error {
	for {
		_, err := os.Stat(s.config.CAFile)
		if err == nil && s.kube == nil {
			err = s.connect()
		}
		if err == nil {
			_, err = s.kube.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		}
		if err == nil {
			return nil
		}
		select {
		case ended := <-ended:
			return ended
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver isn't ready after %s: %w", readyTime, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// log returns the end of a program's log.
func (s *server) log(program string) string {
	text, err := os.ReadFile(s.path(program + ".log"))
	if err != nil {
		return err.Error()
	}
	return program + ":\n" + string(text[max(0, len(text)-3000):])
}
