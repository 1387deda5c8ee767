// Package jetstream is the bus on NATS JetStream. Streams, KV buckets and consumers are defined once, in streams.yaml.
//
// It knows what carries events, jobs and KV buckets, and nothing of what they mean; events has the words. Nothing else in
// Stoker imports nats.go, except local/natsserver, the embedded server. Read Bus first.
package jetstream
