package bucket_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Other tools work with the local bucket: here Amazon's own client, which the AWS command line and
// boto3 resemble.
func TestAmazonsClientFindsItsWay(t *testing.T) {
	server, _ := start(t, t.TempDir())
	creds := server.Credentials()
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(server.Endpoint()), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(creds.AccessKey, creds.SecretKey, ""),
	})
	ctx, bucket := t.Context(), aws.String("by-amazon")
	must := func(doing string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", doing, err)
		}
	}
	read := func(key string) string {
		t.Helper()
		out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: &key})
		must("get "+key, err)
		defer out.Body.Close()
		data, err := io.ReadAll(out.Body)
		must("read "+key, err)
		return string(data)
	}

	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: bucket})
	must("create bucket", err)
	_, err = client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: bucket, Key: aws.String("a b/ü"), Body: strings.NewReader("hello"), Metadata: map[string]string{"run": "monday"},
	})
	must("put", err)

	_, err = client.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("copy"), CopySource: aws.String("by-amazon/a%20b/%C3%BC")})
	must("copy", err)
	head, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: bucket, Key: aws.String("copy")})
	must("head", err)
	if read("copy") != "hello" || head.Metadata["run"] != "monday" {
		t.Errorf("copy is %q with %v", read("copy"), head.Metadata)
	}

	if got := copyInParts(t, client, bucket, read); got != "HELLO" {
		t.Errorf("copied part is %q", got)
	}

	buckets, err := client.ListBuckets(ctx, &s3.ListBucketsInput{})
	must("list buckets", err)
	if len(buckets.Buckets) != 1 || *buckets.Buckets[0].Name != *bucket {
		t.Errorf("buckets are %+v", buckets.Buckets)
	}
	list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket, Delimiter: aws.String("/")})
	must("list", err)
	if *list.Name != *bucket || len(list.CommonPrefixes) != 1 || *list.CommonPrefixes[0].Prefix != "a b/" {
		t.Errorf("listed %s, %+v", *list.Name, list.CommonPrefixes)
	}
	gone, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{
		{Key: aws.String("a b/ü")}, {Key: aws.String("copy")}, {Key: aws.String("big")}, {Key: aws.String("parts")},
	}}})
	must("delete objects", err)
	if len(gone.Errors) > 0 {
		t.Errorf("delete: %+v", gone.Errors)
	}
	_, err = client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: bucket})
	must("delete bucket", err)
}

// copyInParts makes an object of a part of another one, as clients do with large ones, and returns
// the end of it.
func copyInParts(t *testing.T, client *s3.Client, bucket *string, read func(string) string) string {
	t.Helper()
	ctx := t.Context()
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	big := append(bytes.Repeat([]byte("x"), 6<<20), "HELLO, and more"...)
	_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: aws.String("big"), Body: bytes.NewReader(big)})
	fail(err)
	key := aws.String("parts")
	upload, err := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	fail(err)
	part, err := client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
		Bucket: bucket, Key: key, UploadId: upload.UploadId, PartNumber: aws.Int32(1),
		CopySource: aws.String("by-amazon/big"), CopySourceRange: aws.String("bytes=0-6291460"),
	})
	fail(err)
	_, err = client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: bucket, Key: key, UploadId: upload.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{PartNumber: aws.Int32(1), ETag: part.CopyPartResult.ETag}}},
	})
	fail(err)
	return read("parts")[6<<20:]
}
