// Package storage holds the words for artifacts: a Ref is an address, a Manifest says what a folder holds, a Store keeps
// the bytes. On top of Store stand the three moves that functions make: StageIn, Publish and Commit; and Checkpoints, from which
// an attempt goes on that another one began.
//
// storage/s3 is the Store on MinIO or any S3, storage/backend opens the store of an endpoint, and
// storage/storagetest has the suite that every store passes. This package uses none of them.
package storage
