package kube

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// authority signs the certificates of a run.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         crypto.Signer
}

// newAuthority makes one, and writes ca.crt into dir.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return a, a.issue("ca", template)
}

// issue writes NAME.crt and NAME.key. The first certificate is the authority's own.
func (a *authority) issue(name string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	if a.certificate == nil { // its own
		a.certificate, a.key = template, key
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", name, err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		writePEM(filepath.Join(a.dir, name+".crt"), "CERTIFICATE", certificate),
		writePEM(filepath.Join(a.dir, name+".key"), "EC PRIVATE KEY", encoded))
}

func writePEM(file, kind string, content []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}

// serving is a certificate for the API server.
func serving() *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + clusterDomain},
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(apiAddress), net.ParseIP("10.96.0.1")},
	}
}

// Authority is the file with the certificate of the cluster's authority.
func (s *Server) Authority() string { return s.Path("pki/ca.crt") }

// Certificate makes a secret with a certificate of the authority for names: tls.crt, tls.key and
// ca.crt. Servers may use it as clients of each other.
func (s *Server) Certificate(ctx context.Context, namespace, secret string, names ...string) error {
	file := namespace + "." + secret
	err := s.ca.issue(file, &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	content := map[string][]byte{}
	for key, from := range map[string]string{"tls.crt": file + ".crt", "tls.key": file + ".key", "ca.crt": "ca.crt"} {
		if content[key], err = os.ReadFile(filepath.Join(s.ca.dir, from)); err != nil {
			return err
		}
	}
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret}, Type: corev1.SecretTypeTLS, Data: content}
	_, err = s.Kube.CoreV1().Secrets(namespace).Create(ctx, made, metav1.CreateOptions{})
	return err
}

// component is a user of the API server, with a token.
type component struct{ user, groups string }

// writeTokens writes the token of each component into a file of its name, and all of them into the
// file that the API server reads.
func writeTokens(dir string, components map[string]component) error {
	var all strings.Builder
	for name, c := range components {
		token := rand.Text()
		fmt.Fprintf(&all, "%s,%s,%s,%q\n", token, c.user, name, c.groups)
		if err := os.WriteFile(filepath.Join(dir, name+".token"), []byte(token), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "tokens"), []byte(all.String()), 0o600)
}

// kubeconfig writes the configuration of a component's client. The token lies beside the authority.
func kubeconfig(file, ca, name string) error {
	token, err := os.ReadFile(filepath.Join(filepath.Dir(ca), name+".token"))
	if err != nil {
		return err
	}
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"test": {Server: "https://" + apiAddress + ":6443", CertificateAuthority: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: string(token)}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: name}},
		CurrentContext: "test",
	}, file)
}
