package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Trusted asks a server behind TLS once whether its certificate is one to trust: nil, too, of one that can't be reached, which what is
// asked of it next will say. minio-go takes a certificate that is refused for a fault of the moment, and tries for long.
// The connection stays for what comes next.
func (s *Store) Trusted(ctx context.Context) error {
	if !strings.HasPrefix(s.endpoint, "https:") {
		return nil
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, s.endpoint, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := s.transport.RoundTrip(req)
	if err == nil {
		return answer.Body.Close()
	}
	if _, refused := errors.AsType[*tls.CertificateVerificationError](err); refused {
		return err
	}
	return nil
}
