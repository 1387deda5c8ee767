// Package local is Stoker in one process: an embedded NATS server, an embedded S3 server, a dispatcher, a worker and, where it is
// wanted, a bridge from the one server to the other. It only composes: the bus is local/bus, the bucket is local/bucket, the work
// is in functions.
//
// Read With first.
package local
