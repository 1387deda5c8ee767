// Package natsserver is a NATS server with JetStream inside this process: the bus of a laptop, and
// of tests. It writes to a file store in a folder of its own, lets in only clients with this
// installation's password, and listens on loopback by default. It prints nothing.
//
// It knows no stream and no event: events/jetstream makes those. Read Server first.
package natsserver
