// Package backend opens the store of an endpoint. It is the only package that knows all backends.
// To add one, write a package next to storage/s3 that passes the suite of storagetest, and add an
// entry to backends.
package backend

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// Store is a storage.Store that owns its connections.
type Store interface {
	storage.Store
	io.Closer
	// Trusted returns an error if the server's certificate is not trusted. It returns nil if the
	// server can't be reached: the first request reports that.
	Trusted(ctx context.Context) error
}

// backends maps the scheme of an endpoint to the function that opens its store.
var backends = map[string]opener{
	"http":  with(openS3),
	"https": with(openS3),
}

type opener func(context.Context, storage.Access) (Store, error)

// with makes an opener of a function that returns a backend's own type.
func with[S Store](open func(context.Context, storage.Access) (S, error)) opener {
	return func(ctx context.Context, a storage.Access) (Store, error) {
		store, err := open(ctx, a)
		if err != nil {
			return nil, err // not a Store that holds a nil S
		}
		return store, nil
	}
}

// Open returns the store of an endpoint. It connects to no server, except one that issues
// credentials. If no credentials are found, it returns storage.ErrDenied.
func Open(ctx context.Context, a storage.Access) (Store, error) {
	scheme, _, _ := strings.Cut(a.Endpoint, "://")
	open, known := backends[scheme]
	if !known {
		return nil, fmt.Errorf("endpoint %q: expected a URL of scheme %s", a.Endpoint, strings.Join(slices.Sorted(maps.Keys(backends)), ", "))
	}
	return open(ctx, a)
}

func openS3(ctx context.Context, a storage.Access) (*s3.Store, error) {
	return s3.Open(ctx, s3.Config{
		Endpoint: a.Endpoint, Region: a.Region, RootCA: a.RootCA,
		AccessKey: a.AccessKey, SecretKey: a.SecretKey, SessionToken: a.SessionToken, Credentials: a.Credentials,
	})
}
