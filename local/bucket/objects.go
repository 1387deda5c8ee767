package bucket

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
)

// Objects. Where an answer names the bucket, it is the one that was asked for.

func (r *rooted) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	asked := in.Bucket
	in.Bucket = r.at(in.Bucket)
	out, err := r.put(ctx, in)
	if err == nil {
		err = r.created(ctx, asked, in.Key, out.ETag, in.Metadata)
	}
	return out, r.told(ctx, "PutObject", err)
}

func (r *rooted) put(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	if strings.HasSuffix(backend.GetStringFromPtr(in.Key), "/") { // a folder, whose body nobody reads
		defer r.settle.begin()()
	} else {
		body, done := r.settle.atEnd(in.Body)
		defer done()
		in.Body = body
	}
	return r.posix.PutObject(ctx, in)
}

func (r *rooted) HeadObject(ctx context.Context, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, err := r.posix.HeadObject(ctx, &c)
	return out, r.told(ctx, "HeadObject", err)
}

func (r *rooted) GetObject(ctx context.Context, in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, err := r.posix.GetObject(ctx, &c)
	return out, r.told(ctx, "GetObject", err)
}

func (r *rooted) GetObjectAttributes(ctx context.Context, in *s3.GetObjectAttributesInput) (s3response.GetObjectAttributesResponse, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, err := r.posix.GetObjectAttributes(ctx, &c)
	return out, r.told(ctx, "GetObjectAttributes", err)
}

func (r *rooted) ListObjects(ctx context.Context, in *s3.ListObjectsInput) (s3response.ListObjectsResult, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, err := r.posix.ListObjects(ctx, &c)
	out.Name = in.Bucket
	return out, r.told(ctx, "ListObjects", err)
}

func (r *rooted) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input) (s3response.ListObjectsV2Result, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, err := r.posix.ListObjectsV2(ctx, &c)
	out.Name = in.Bucket
	return out, r.told(ctx, "ListObjectsV2", err)
}

func (r *rooted) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	r.settle.Lock()
	defer r.settle.Unlock()
	out, err := r.posix.DeleteObject(ctx, &c)
	return out, r.told(ctx, "DeleteObject", err)
}

func (r *rooted) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	r.settle.Lock()
	defer r.settle.Unlock()
	out, err := r.posix.DeleteObjects(ctx, &c)
	return out, r.told(ctx, "DeleteObjects", err)
}

func (r *rooted) GetObjectTagging(ctx context.Context, bucket, key, version string) (map[string]string, error) {
	return r.posix.GetObjectTagging(ctx, r.path(bucket), key, version)
}

func (r *rooted) PutObjectTagging(ctx context.Context, bucket, key, version string, tags map[string]string) error {
	return r.posix.PutObjectTagging(ctx, r.path(bucket), key, version, tags)
}

func (r *rooted) DeleteObjectTagging(ctx context.Context, bucket, key, version string) error {
	return r.posix.DeleteObjectTagging(ctx, r.path(bucket), key, version)
}

func (r *rooted) GetObjectRetention(ctx context.Context, bucket, key, version string) ([]byte, error) {
	return r.posix.GetObjectRetention(ctx, r.path(bucket), key, version)
}

func (r *rooted) GetObjectLegalHold(ctx context.Context, bucket, key, version string) (*bool, error) {
	return r.posix.GetObjectLegalHold(ctx, r.path(bucket), key, version)
}
