package target

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// showsSource explains how to find a wrong setting.
const showsSource = "`stoker config` shows where the setting comes from"

// checkFiles returns an error for unusable files before a server is contacted, whose error would be
// less clear.
func checkFiles(bus settings.Bus) error {
	var pair error
	if bus.Cert != "" && bus.KeyText != "" {
		pair = keyText(bus)
	} else if bus.Cert != "" && bus.Key != "" {
		if _, err := tls.LoadX509KeyPair(bus.Cert, bus.Key); err != nil {
			pair = fmt.Errorf("nats.cert and nats.key: %w: %s", err, showsSource)
		}
	}
	err := errors.Join(certificates("nats.ca", bus.CA), pair, readable("nats.creds", bus.Creds), readable("nats.nkey", bus.NKey))
	if err != nil {
		return exit.Usage(err)
	}
	return nil
}

// keyText returns an error if a certificate and a key do not match, for a key that is not in a
// file.
func keyText(bus settings.Bus) error {
	certificate, err := os.ReadFile(bus.Cert)
	if err == nil {
		_, err = tls.X509KeyPair(certificate, []byte(bus.KeyText))
	}
	if err != nil {
		return fmt.Errorf("nats.cert and nats.key_text: %w: %s", err, showsSource)
	}
	return nil
}

// certificates returns an error for a file without certificates; "" is none.
func certificates(key, file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", key, err, showsSource)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("%s: %s: expected certificates in PEM: %s", key, file, showsSource)
	}
	return nil
}

func readable(key, file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", key, err, showsSource)
	}
	return f.Close()
}

// hint returns advice for a server whose certificate is rejected here; "" for other errors. trust
// is the setting that names certificates.
func hint(err error, trust string) string {
	if other, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the server's certificate is for %s: use one of these names in the address, or get a certificate for this one", namesOf(other.Certificate))
	}
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok && bad.Reason == x509.Expired {
		return "renew the server's certificate, or correct this machine's clock"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return trust + " sets the certificates to trust"
	}
	return ""
}

// namesOf returns the names for which a certificate is valid.
func namesOf(cert *x509.Certificate) string {
	names := cert.DNSNames
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name at all"
	}
	return strings.Join(names, ", ")
}

// asksForCertificate recognizes a bus that requires a client certificate, or another one: it closes
// the connection before or after its reason is read.
func asksForCertificate(err error) bool {
	said := err.Error()
	return strings.Contains(said, "remote error: tls: ") && strings.Contains(said, "certificate") || strings.Contains(said, "closed by remote after TLS handshake")
}
