// Package events holds the words on the wire: what has happened (a Fact), what is to be done (a Job), and the contract of
// the letterbox that carries both (Log, Queue, Register).
//
// It knows no broker. events/jetstream is the letterbox on NATS; events/bustest has the suite that every letterbox
// passes, and one in memory. Read Fact first.
package events
