package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"
	"github.com/stoker-ml/stoker/storage"
)

var errDenied = storage.ErrDenied

// fault says what was being done to what, and which of storage's kinds err is. It keeps err in the
// chain.
func fault(ctx context.Context, doing string, ref storage.Ref, err error) error {
	if ended := ctx.Err(); ended != nil {
		if errors.Is(err, ended) {
			return fmt.Errorf("%s %s: %w", doing, ref, err)
		}
		return fmt.Errorf("%s %s: %w: %w", doing, ref, ended, err)
	}
	if kind := kindOf(err); kind != nil {
		return fmt.Errorf("%s %s: %w: %w", doing, ref, kind, brief(err))
	}
	return fmt.Errorf("%s %s: %w", doing, ref, err)
}

// brief leaves the URL of a request out of the text of its error: it is long, and its object is
// named.
func brief(err error) error {
	if sent, ok := errors.AsType[*url.Error](err); ok && error(sent) == err {
		return briefly{sent}
	}
	return err
}

type briefly struct{ sent *url.Error }

func (b briefly) Error() string { return b.sent.Err.Error() }
func (b briefly) Unwrap() error { return b.sent }

// kindOf returns nil if no kind fits: then it is our own mistake, or one of configuration.
func kindOf(err error) error {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && answer.StatusCode != 0 {
		return kindOfAnswer(answer)
	}
	var badCert *tls.CertificateVerificationError
	if errors.Is(err, errShort) || errors.As(err, &badCert) {
		return nil
	}
	var netErr net.Error
	var urlErr *url.Error
	switch {
	case errors.As(err, &netErr), errors.As(err, &urlErr), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return storage.ErrUnavailable
	}
	return nil
}

func kindOfAnswer(answer minio.ErrorResponse) error {
	switch answer.Code {
	case minio.NoSuchKey, minio.NoSuchBucket, "NoSuchUpload":
		return storage.ErrNotFound
	case "ConditionalRequestConflict", "OperationAborted", "SlowDown":
		return storage.ErrUnavailable
	case "SignatureDoesNotMatch", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken":
		return storage.ErrDenied
	}
	switch code := answer.StatusCode; {
	case code == http.StatusNotFound:
		return storage.ErrNotFound
	case code == http.StatusPreconditionFailed:
		return storage.ErrPrecondition
	case code == http.StatusForbidden, code == http.StatusUnauthorized:
		return storage.ErrDenied
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return storage.ErrUnavailable
	}
	return nil
}
