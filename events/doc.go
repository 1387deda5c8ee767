// Package events holds the words on the wire: what has happened (a Event), what is to be done (a Job), and the contract of
// the bus that carries both (EventLog, JobQueue, KV).
//
// It knows no broker. events/jetstream is the bus on NATS; events/bustest has the suite that every bus
// passes, and one in memory. Read Event first.
package events
