// Package storage defines how artifacts are kept: a Ref is an address, a Manifest lists the files
// of an artifact, a Store keeps the bytes. Functions use three operations on a Store: StageIn,
// Publish and Commit; and Checkpoints, from which an attempt resumes the work of another one.
//
// Package storage/s3 is the Store on MinIO or any S3, storage/backend opens the store of an
// endpoint, and storage/storagetest has the suite that every store passes. This package uses none
// of them.
package storage
