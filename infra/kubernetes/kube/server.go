package kube

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
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
)

const readyTime = 2 * time.Minute

// Server is an API server with its etcd, and clients of its administrator.
type Server struct {
	Kube    *kubernetes.Clientset
	Dynamic dynamic.Interface
	Config  *rest.Config

	ca         *authority
	dir        string // of logs, data and configuration
	binaries   string // the folder of build.sh
	kubeconfig string
	nodes      map[string]int // the first process of each node
	mapper     *restmapper.DeferredDiscoveryRESTMapper
	namespaced func() ([]schema.GroupVersionResource, error) // listable, once
	ended      chan error                                    // why a program has ended
}

// Start starts etcd and an API server. dir is for files of the run, binaries the folder of
// build.sh. The programs end with the first process of their namespace.
func Start(dir, binaries string) (*Server, error) {
	s := &Server{dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig"), nodes: map[string]int{}, ended: make(chan error, 8)}
	var err error
	if s.binaries, err = filepath.Abs(binaries); err != nil {
		return nil, err
	}
	if err := makeBridge(); err != nil {
		return nil, err
	}
	if err := s.configure(); err != nil {
		return nil, err
	}
	if err := s.run("etcd", "--data-dir", s.Path("etcd"), "--unsafe-no-fsync", "--log-level", "warn"); err != nil {
		return nil, err
	}
	err = s.run("kube-apiserver",
		"--etcd-servers", "http://127.0.0.1:2379", "--secure-port", "6443", "--bind-address", "0.0.0.0", "--advertise-address", apiAddress,
		"--tls-cert-file", s.Path("pki/apiserver.crt"), "--tls-private-key-file", s.Path("pki/apiserver.key"),
		"--client-ca-file", s.Path("pki/ca.crt"), "--token-auth-file", s.Path("pki/tokens"), "--authorization-mode", "Node,RBAC",
		"--enable-admission-plugins", "NodeRestriction", "--enable-aggregator-routing",
		"--kubelet-client-certificate", s.Path("pki/kubelet-client.crt"), "--kubelet-client-key", s.Path("pki/kubelet-client.key"),
		"--kubelet-preferred-address-types", "InternalIP",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", s.Path("pki/accounts.key"),
		"--service-account-signing-key-file", s.Path("pki/accounts.key"), "--service-cluster-ip-range", serviceRange,
		"--audit-policy-file", s.Path("audit.yaml"), "--audit-log-path", s.Path("audit.log"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if err := s.ready(ctx); err != nil {
		return nil, fmt.Errorf("kube-apiserver isn't ready: %w\n%s\n%s", err, s.Log("etcd"), s.Log("kube-apiserver"))
	}
	return s, nil
}

// Path is the path of a file of the run.
func (s *Server) Path(name string) string { return filepath.Join(s.dir, name) }

// configure writes the files that the servers read. Requests are logged once they are answered.
func (s *Server) configure() error {
	ca, err := newAuthority(s.Path("pki"))
	if err != nil {
		return err
	}
	s.ca = ca
	admins := &x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if err := errors.Join(ca.issue("apiserver", serving()), ca.issue("kubelet-client", admins), ca.issue("accounts", &x509.Certificate{})); err != nil {
		return err
	}
	components := map[string]component{
		"admin":                   {"admin", "system:masters"},
		"kube-controller-manager": {"system:kube-controller-manager", ""},
		"kube-scheduler":          {"system:kube-scheduler", ""},
		"kube-proxy":              {"system:kube-proxy", ""},
		// Its own manifests give it a narrower role.
		"kube-router": {"kube-router", "system:masters"},
	}
	for n := range maxNodes {
		name := node{Number: n + 1}.name()
		components[name] = component{"system:node:" + name, "system:nodes"}
	}
	if err := writeTokens(s.Path("pki"), components); err != nil {
		return err
	}
	policy := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
	if err := os.WriteFile(s.Path("audit.yaml"), []byte(policy), 0o600); err != nil {
		return err
	}
	if err := kubeconfig(s.kubeconfig, s.Path("pki/ca.crt"), "admin"); err != nil {
		return err
	}
	if s.Config, err = clientcmd.BuildConfigFromFlags("", s.kubeconfig); err != nil {
		return err
	}
	s.Config.QPS = -1
	return s.connect()
}

// run starts a program with a log. When it ends, s.ended gets the reason.
func (s *Server) run(program string, args ...string) error {
	log, err := os.Create(s.Path(program + ".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(s.binaries, program), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: infra/kubernetes/build.sh bin/kubernetes builds it", err)
	}
	go func() { s.ended <- fmt.Errorf("%s ended: %v", program, errors.Join(cmd.Wait(), log.Close())) }()
	return nil
}

// connect makes the clients.
func (s *Server) connect() (err error) {
	if s.Kube, err = kubernetes.NewForConfig(s.Config); err != nil {
		return err
	}
	s.namespaced = sync.OnceValues(s.listable)
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.Kube.Discovery()))
	s.Dynamic, err = dynamic.NewForConfig(s.Config)
	return err
}

// ready waits until the server answers that it is ready.
func (s *Server) ready(ctx context.Context) error {
	return s.poll(ctx, func() error {
		_, err := s.Kube.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

// Log returns the end of a program's log.
func (s *Server) Log(program string) string {
	text, err := os.ReadFile(s.Path(program + ".log"))
	if err != nil {
		return err.Error()
	}
	return program + ":\n" + string(text[max(0, len(text)-3000):])
}
