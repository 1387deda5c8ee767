// Package local runs the two servers of a laptop, an embedded NATS server (local/natsserver) and an
// embedded S3 server (local/bucket), on one data directory, and writes down how other processes
// reach them. functions/stoker/stack composes the functions that use them.
//
// Read With first.
package local
