package bucket

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
)

// Copies within the server. A source's address can't hold an absolute path, so they are made of a read and a write.

func (r *rooted) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	src, err := r.source(ctx, &s3.GetObjectInput{IfMatch: in.CopySourceIfMatch, IfNoneMatch: in.CopySourceIfNoneMatch}, in.CopySource)
	if err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	defer src.Body.Close()
	put := s3response.PutObjectInput{
		Bucket: in.Bucket, Key: in.Key, Body: src.Body, ContentLength: src.ContentLength,
		ExpectedBucketOwner: in.ExpectedBucketOwner, Tagging: in.Tagging,
		Metadata: src.Metadata, ContentType: src.ContentType, ContentEncoding: src.ContentEncoding,
	}
	if in.MetadataDirective == types.MetadataDirectiveReplace {
		put.Metadata, put.ContentType, put.ContentEncoding = in.Metadata, in.ContentType, in.ContentEncoding
	}
	out, err := r.PutObject(ctx, put)
	if err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	return s3response.CopyObjectOutput{
		CopyObjectResult: &s3response.CopyObjectResult{ETag: &out.ETag, LastModified: src.LastModified},
	}, nil
}

func (r *rooted) UploadPartCopy(ctx context.Context, in *s3.UploadPartCopyInput) (s3response.CopyPartResult, error) {
	src, err := r.source(ctx, &s3.GetObjectInput{IfMatch: in.CopySourceIfMatch, Range: in.CopySourceRange}, in.CopySource)
	if err != nil {
		return s3response.CopyPartResult{}, err
	}
	defer src.Body.Close()
	out, err := r.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: in.Bucket, Key: in.Key, UploadId: in.UploadId, PartNumber: in.PartNumber,
		Body: src.Body, ContentLength: src.ContentLength,
	})
	if err != nil {
		return s3response.CopyPartResult{}, err
	}
	return s3response.CopyPartResult{ETag: out.ETag, LastModified: *src.LastModified}, nil
}

func (r *rooted) source(ctx context.Context, get *s3.GetObjectInput, address *string) (*s3.GetObjectOutput, error) {
	bucket, key, version, err := backend.ParseCopySource(backend.GetStringFromPtr(address))
	if err != nil {
		return nil, err
	}
	get.Bucket, get.Key = &bucket, &key
	if version != "" {
		get.VersionId = &version
	}
	return r.GetObject(ctx, get)
}
