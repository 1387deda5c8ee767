// Package plan turns facts and a pipeline into jobs. It is pure: no clock, no network, no randomness; the same facts give the
// same jobs, ids included, on any machine and on any replay.
//
// functions/dispatch keeps a Join in a register and asks here what it means. Read Join first.
package plan
