// Package jetstream is the bus on NATS JetStream. Streams, KV buckets and consumers are defined
// once, in streams.yaml.
//
// It transports events, jobs and KV entries; package events defines their meaning. No other package
// of Stoker imports nats.go, except local/natsserver, the embedded server. Read Bus first.
package jetstream
