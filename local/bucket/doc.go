// Package bucket is an S3 server within this process, for one machine: versitygw on a local folder. Read Start first.
//
// What it keeps is plain files, <Dir>/buckets/<bucket>/<key>, with S3's metadata in extended attributes, or in a folder beside
// where the file system has none. Writes become visible whole or not at all, and conditional writes decide races, but nothing is
// flushed to disk with fsync: what was written in the seconds before a power cut may be gone or empty afterwards. A crash
// of the process alone loses nothing. For data that must not be lost, use a real store.
//
// It is silent, but for one line that versitygw prints on standard error when a client breaks off an upload.
//
// One server can run in a process at a time (versitygw keeps some of its state in package variables), and one process can
// use a Dir at a time. Tests share one: see buckettest.
package bucket
