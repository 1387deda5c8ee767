// Package s3 is the storage.Store on MinIO, or on any server that implements S3 with conditional
// writes. It is tested on MinIO, on versitygw and on local/bucket. Read Store first; Config says
// how to reach a server.
//
// It is the only package that imports minio-go. What artifacts are, and when they count, is defined
// in package storage.
package s3
