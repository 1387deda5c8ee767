package bucket

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
)

// Objects that are sent in parts.

func (r *rooted) CreateMultipartUpload(ctx context.Context, in s3response.CreateMultipartUploadInput) (s3response.InitiateMultipartUploadResult, error) {
	asked := in.Bucket
	in.Bucket = r.at(in.Bucket)
	out, err := r.posix.CreateMultipartUpload(ctx, in)
	if asked != nil {
		out.Bucket = *asked
	}
	return out, r.told(ctx, "CreateMultipartUpload", err)
}

func (r *rooted) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, err := r.posix.UploadPart(ctx, &c)
	return out, r.told(ctx, "UploadPart", err)
}

func (r *rooted) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, version, err := r.complete(ctx, &c)
	out.Bucket = in.Bucket
	if err == nil {
		err = r.created(ctx, in.Bucket, in.Key, backend.GetStringFromPtr(out.ETag), nil) // metadata came with the first request
	}
	return out, version, r.told(ctx, "CompleteMultipartUpload", err)
}

func (r *rooted) complete(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	defer r.settle.begin()() // all its parts are here
	return r.posix.CompleteMultipartUpload(ctx, in)
}

func (r *rooted) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput) error {
	c := *in
	c.Bucket = r.at(in.Bucket)
	return r.told(ctx, "AbortMultipartUpload", r.posix.AbortMultipartUpload(ctx, &c))
}

func (r *rooted) ListMultipartUploads(ctx context.Context, in *s3.ListMultipartUploadsInput) (s3response.ListMultipartUploadsResult, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, err := r.posix.ListMultipartUploads(ctx, &c)
	if in.Bucket != nil {
		out.Bucket = *in.Bucket
	}
	return out, r.told(ctx, "ListMultipartUploads", err)
}

func (r *rooted) ListParts(ctx context.Context, in *s3.ListPartsInput) (s3response.ListPartsResult, error) {
	c := *in
	c.Bucket = r.at(in.Bucket)
	out, err := r.posix.ListParts(ctx, &c)
	if in.Bucket != nil {
		out.Bucket = *in.Bucket
	}
	return out, r.told(ctx, "ListParts", err)
}
