// Package s3 is the storage.Store on MinIO, or on any server that speaks S3 with conditional writes. Tested on MinIO, on
// versitygw and on local/bucket. Read Store first; Config says how to reach a server.
//
// It is the only importer of minio-go. What artifacts are, and when they count, is storage's to know.
package s3
