package bucket

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stoker-ml/stoker/storage"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// rooted lets versitygw's posix backend work below dir without being there. The backend takes a bucket's name for a path
// from the working directory, and changes the working directory of the whole process to make that true. Here it
// stays where it is, and is given absolute paths for names. What is not forwarded is answered with NotImplemented: versions,
// object locks, web sites.
type rooted struct {
	backend.BackendUnsupported
	posix  *posix.Posix
	dir    string // absolute
	settle settle
	tell   Tell
	log    *slog.Logger
}

var _ backend.Backend = (*rooted)(nil)

func (r *rooted) String() string { return "stoker" }
func (r *rooted) Shutdown()      { r.posix.Shutdown() }

func (r *rooted) NormalizeObjectKey(bucket, key string) string {
	return r.posix.NormalizeObjectKey(bucket, key)
}

// path is where a bucket lies. The server in front has checked the name; a name that could lead elsewhere finds nothing.
func (r *rooted) path(bucket string) string {
	if (storage.Ref{Bucket: bucket}).Validate() != nil {
		bucket = "-" // no bucket can have this name
	}
	return filepath.Join(r.dir, bucket)
}

func (r *rooted) at(bucket *string) *string {
	if bucket == nil {
		return nil
	}
	p := r.path(*bucket)
	return &p
}

// told logs what the server would print on standard error, and makes an answer of it.
func (r *rooted) told(ctx context.Context, doing string, err error) error {
	var answer s3err.S3Error
	switch {
	case err == nil || errors.As(err, &answer):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return s3err.GetAPIError(s3err.ErrIncompleteBody)
	}
	r.log.ErrorContext(ctx, "bucket server: request failed", "request", doing, "error", err)
	return s3err.GetAPIError(s3err.ErrInternalError)
}

// Buckets.

func (r *rooted) ListBuckets(_ context.Context, in s3response.ListBucketsInput) (s3response.ListAllMyBucketsResult, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return s3response.ListAllMyBucketsResult{}, err
	}
	out := s3response.ListAllMyBucketsResult{Owner: s3response.CanonicalUser{ID: in.Owner}, Prefix: in.Prefix}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || !strings.HasPrefix(name, in.Prefix) || name <= in.ContinuationToken {
			continue
		}
		if len(out.Buckets.Bucket) == int(in.MaxBuckets) {
			out.ContinuationToken = out.Buckets.Bucket[len(out.Buckets.Bucket)-1].Name
			break
		}
		info, err := e.Info()
		if err != nil {
			continue // deleted meanwhile
		}
		out.Buckets.Bucket = append(out.Buckets.Bucket, s3response.ListAllMyBucketsEntry{Name: name, CreationDate: info.ModTime()})
	}
	return out, nil
}

func (r *rooted) HeadBucket(ctx context.Context, in *s3.HeadBucketInput) (*s3.HeadBucketOutput, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	return r.posix.HeadBucket(ctx, &c)
}

func (r *rooted) CreateBucket(ctx context.Context, in *s3.CreateBucketInput, acl []byte) error {
	c := *in
	c.Bucket = r.at(in.Bucket)
	return r.posix.CreateBucket(ctx, &c, acl)
}

func (r *rooted) DeleteBucket(ctx context.Context, bucket string) error {
	return r.posix.DeleteBucket(ctx, r.path(bucket))
}

func (r *rooted) GetBucketAcl(ctx context.Context, in *s3.GetBucketAclInput) ([]byte, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	return r.posix.GetBucketAcl(ctx, &c)
}

func (r *rooted) PutBucketAcl(ctx context.Context, bucket string, data []byte) error {
	return r.posix.PutBucketAcl(ctx, r.path(bucket), data)
}

func (r *rooted) GetBucketVersioning(ctx context.Context, bucket string) (s3response.GetBucketVersioningOutput, error) {
	return r.posix.GetBucketVersioning(ctx, r.path(bucket))
}

func (r *rooted) GetBucketPolicy(ctx context.Context, bucket string) ([]byte, error) {
	return r.posix.GetBucketPolicy(ctx, r.path(bucket))
}

func (r *rooted) PutBucketPolicy(ctx context.Context, bucket string, policy []byte) error {
	return r.posix.PutBucketPolicy(ctx, r.path(bucket), policy)
}

func (r *rooted) DeleteBucketPolicy(ctx context.Context, bucket string) error {
	return r.posix.DeleteBucketPolicy(ctx, r.path(bucket))
}

func (r *rooted) GetBucketOwnershipControls(ctx context.Context, bucket string) (types.ObjectOwnership, error) {
	return r.posix.GetBucketOwnershipControls(ctx, r.path(bucket))
}

func (r *rooted) GetBucketCors(ctx context.Context, bucket string) ([]byte, error) {
	return r.posix.GetBucketCors(ctx, r.path(bucket))
}

func (r *rooted) GetBucketTagging(ctx context.Context, bucket string) (map[string]string, error) {
	return r.posix.GetBucketTagging(ctx, r.path(bucket))
}

func (r *rooted) GetObjectLockConfiguration(context.Context, string) ([]byte, error) {
	return nil, s3err.GetAPIError(s3err.ErrObjectLockConfigurationNotFound)
}
