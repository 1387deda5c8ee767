// Package events defines the messages of Stoker: what has happened (an Event), what is to be done
// (a Job), and the contract of the bus that carries both (EventLog, JobQueue, KV).
//
// It does not depend on a broker. events/jetstream is the bus on NATS; events/bustest has the suite
// that every bus passes, and an in-memory bus. Read Event first.
package events
