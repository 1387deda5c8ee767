package s3

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stoker-ml/stoker/storage"
)

// lentFor is how long before they expire keys are renewed: requests in flight still need them.
const lentFor = time.Minute

// lender is a credentials provider for minio-go that calls a function.
type lender struct {
	credentials.Expiry
	ask func(context.Context) (storage.Credentials, error)
}

// lent calls ask once at the start, so that missing keys are reported then.
func lent(ctx context.Context, ask func(context.Context) (storage.Credentials, error)) (*credentials.Credentials, error) {
	creds := credentials.New(&lender{ask: ask})
	_, err := creds.GetWithContext(&credentials.CredContext{Context: ctx})
	return creds, err
}

// Retrieve implements credentials.Provider for callers without a context.
func (l *lender) Retrieve() (credentials.Value, error) {
	return l.RetrieveWithCredContext(&credentials.CredContext{Context: context.Background()})
}

// RetrieveWithCredContext implements credentials.Provider.
func (l *lender) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	ctx := context.Background()
	if cc != nil && cc.Context != nil {
		ctx = cc.Context
	}
	keys, err := l.ask(ctx)
	if err != nil {
		return credentials.Value{}, fmt.Errorf("%w: %w", storage.ErrDenied, err)
	}
	if keys.AccessKey == "" || keys.SecretKey == "" {
		return credentials.Value{}, fmt.Errorf("%w: %w", storage.ErrDenied, errors.New("no keys returned"))
	}
	if keys.Expires.IsZero() {
		keys.Expires = time.Now().AddDate(100, 0, 0)
	}
	l.SetExpiration(keys.Expires, lentFor)
	return credentials.Value{
		AccessKeyID: keys.AccessKey, SecretAccessKey: keys.SecretKey, SessionToken: keys.SessionToken,
		Expiration: keys.Expires, SignerType: credentials.SignatureV4,
	}, nil
}
