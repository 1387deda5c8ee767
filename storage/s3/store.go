package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/stoker-ml/stoker/storage"
)

// Store is a storage.Store on one S3 server, made by Open. Its methods may be called concurrently.
type Store struct {
	client    *minio.Client
	core      minio.Core
	transport *http.Transport
	endpoint  string
}

var _ storage.Store = (*Store)(nil)

// Close closes the idle connections. Using the Store again opens new ones.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// String returns the server's endpoint.
func (s *Store) String() string { return s.endpoint }

// partBytes is the size from which an object is uploaded in parts, and the size of the parts.
const partBytes = 16 << 20

// EnsureBucket creates a bucket if it does not exist.
func (s *Store) EnsureBucket(ctx context.Context, bucket string) error {
	ref := storage.Ref{Bucket: bucket}
	if err := ref.Validate(); err != nil {
		return err
	}
	there, err := s.client.BucketExists(ctx, bucket)
	if err != nil {
		return fault(ctx, "look for", ref, err)
	}
	if there {
		return nil
	}
	err = s.client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{})
	switch minio.ToErrorResponse(err).Code {
	case "BucketAlreadyOwnedByYou", "BucketAlreadyExists":
		return nil // created by another client meanwhile
	}
	if err != nil {
		return fault(ctx, "make", ref, err)
	}
	return nil
}

// List implements storage.Store.
func (s *Store) List(ctx context.Context, prefix storage.Ref) iter.Seq2[storage.Object, error] {
	return func(yield func(storage.Object, error) bool) {
		if err := prefix.Validate(); err != nil {
			yield(storage.Object{}, err)
			return
		}
		opts := minio.ListObjectsOptions{Prefix: prefix.Key, Recursive: true}
		for info := range s.client.ListObjectsIter(ctx, prefix.Bucket, opts) {
			if info.Err != nil {
				yield(storage.Object{}, fault(ctx, "list", prefix, info.Err))
				return
			}
			ref := storage.Ref{Bucket: prefix.Bucket, Key: info.Key}
			if !yield(object(ref, info), nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil { // minio-go may end a listing as if it were complete
			yield(storage.Object{}, fault(ctx, "list", prefix, err))
		}
	}
}

// Stat implements storage.Store.
func (s *Store) Stat(ctx context.Context, ref storage.Ref) (storage.Object, error) {
	if err := checkObject(ref); err != nil {
		return storage.Object{}, err
	}
	info, err := s.client.StatObject(ctx, ref.Bucket, ref.Key, minio.StatObjectOptions{})
	if err != nil {
		return storage.Object{}, fault(ctx, "stat", ref, err)
	}
	return object(ref, info), nil
}

// Open implements storage.Store.
func (s *Store) Open(ctx context.Context, ref storage.Ref, ifETag string) (io.ReadCloser, storage.Object, error) {
	if err := checkObject(ref); err != nil {
		return nil, storage.Object{}, err
	}
	var opts minio.GetObjectOptions
	if ifETag != "" {
		if err := opts.SetMatchETag(ifETag); err != nil {
			return nil, storage.Object{}, fmt.Errorf("open %s: %w", ref, err)
		}
	}
	body, info, _, err := s.core.GetObject(ctx, ref.Bucket, ref.Key, opts)
	if err != nil {
		err = fault(ctx, "open", ref, err)
		if errors.Is(err, storage.ErrPrecondition) {
			err = fmt.Errorf("%w: %w", storage.ErrChanged, err)
		}
		return nil, storage.Object{}, err
	}
	if info.Size < 0 {
		body.Close()
		return nil, storage.Object{}, fmt.Errorf("open %s: the response has no length, so a broken connection could not be detected", ref)
	}
	return &stream{ctx: ctx, ref: ref, body: body, left: info.Size}, object(ref, info), nil
}

// Put implements storage.Store.
func (s *Store) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (storage.Object, error) {
	if err := checkObject(ref); err != nil {
		return storage.Object{}, err
	}
	// NumThreads limits memory: without an io.ReaderAt, this many parts are held at once.
	opts := minio.PutObjectOptions{PartSize: partBytes, NumThreads: 2, ConcurrentStreamParts: true}
	info, err := s.client.PutObject(ctx, ref.Bucket, ref.Key, exactly(body, size), size, opts)
	if err != nil {
		return storage.Object{}, fault(ctx, "put", ref, err)
	}
	return storage.Object{Ref: ref, Size: info.Size, ETag: info.ETag, Modified: info.LastModified}, nil
}

// PutIf implements storage.Store.
func (s *Store) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	if err := errors.Join(checkObject(ref), cond.Validate()); err != nil {
		return storage.Object{}, fmt.Errorf("put %s: %w", ref, err)
	}
	opts := minio.PutObjectOptions{DisableMultipart: true}
	if cond.IfAbsent {
		opts.SetMatchETagExcept("*")
	} else {
		opts.SetMatchETag(cond.IfMatch)
	}
	size := int64(len(body))
	info, err := s.client.PutObject(ctx, ref.Bucket, ref.Key, bytes.NewReader(body), size, opts)
	if err != nil {
		if answer := minio.ToErrorResponse(err); answer.StatusCode == http.StatusNotImplemented || answer.Code == "NotImplemented" {
			return storage.Object{}, fmt.Errorf("put %s: %w: %w", ref, storage.ErrNoConditions, err)
		}
		err = fault(ctx, "put", ref, err)
		if cond.IfMatch != "" && errors.Is(err, storage.ErrNotFound) {
			// The object to replace is gone.
			err = fmt.Errorf("%w: %w", storage.ErrPrecondition, err)
		}
		return storage.Object{}, err
	}
	return storage.Object{Ref: ref, Size: size, ETag: info.ETag, Modified: info.LastModified}, nil
}

// Delete implements storage.Store.
func (s *Store) Delete(ctx context.Context, ref storage.Ref) error {
	if err := checkKey(ref); err != nil {
		return err
	}
	err := s.client.RemoveObject(ctx, ref.Bucket, ref.Key, minio.RemoveObjectOptions{})
	if err == nil {
		return nil
	}
	if err = fault(ctx, "delete", ref, err); errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// checkObject returns an error for an address that is not an object's.
func checkObject(ref storage.Ref) error {
	if strings.HasSuffix(ref.Key, "/") {
		return fmt.Errorf("%w %q: names a folder, not an object", storage.ErrBadRef, ref)
	}
	return checkKey(ref)
}

// checkKey also accepts the empty objects that mark folders.
func checkKey(ref storage.Ref) error {
	if ref.Key == "" {
		return fmt.Errorf("%w %q: names a bucket, not an object", storage.ErrBadRef, ref)
	}
	return ref.Validate()
}

func object(ref storage.Ref, info minio.ObjectInfo) storage.Object {
	return storage.Object{Ref: ref, Size: info.Size, ETag: info.ETag, Modified: info.LastModified}
}

// Clock requests the time from the server and returns by how much its clock is ahead, to about a
// second, the resolution of HTTP's Date. It needs no permission. The server refuses requests signed
// by a clock that is off by 15 minutes.
func (s *Store) Clock(ctx context.Context) (ahead time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, s.endpoint+"/", nil)
	if err != nil {
		return 0, err
	}
	asked := time.Now()
	answer, err := s.transport.RoundTrip(req)
	if err != nil {
		return 0, fmt.Errorf("get the time of %s: %w: %w", s.endpoint, storage.ErrUnavailable, err)
	}
	answer.Body.Close()
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return 0, fmt.Errorf("get the time of %s: the response has no valid Date", s.endpoint)
	}
	const half = 500 * time.Millisecond // Date has whole seconds
	took := time.Since(asked)
	return date.Add(half).Sub(asked.Add(took / 2)), nil
}
