// Package bucket is an S3 server within this process, for one machine: S3's requests on a local
// folder. Read Start first.
//
// It keeps plain files, <Dir>/buckets/<bucket>/<key>, and the S3 metadata of each in <Dir>/records.
// Files that are put there or changed by other programs are objects too, with an ETag of their
// bytes. Writes become visible whole or not at all, and conditional writes decide races, but
// nothing is flushed to disk with fsync: objects that were written in the seconds before a power
// cut may be missing or empty afterwards. A crash of the process alone loses nothing. For data that
// must not be lost, use a real store.
//
// It implements what the AWS and MinIO clients ask of a store: signature version 4 in headers and
// URLs, with signed bodies, chunks and trailers; objects with metadata, ranges, conditions,
// checksums and tags; copies; uploads in parts; listings. It does not implement versions, access
// lists, policies, encryption and what else S3 has for many users: there is one key, which may do
// everything. As in any folder of files, no key can be the beginning of another at a slash.
//
// It is no library's, for none that is maintained does this much and no more: see "The embedded S3
// server" in infra/docs/figures.md.
package bucket
