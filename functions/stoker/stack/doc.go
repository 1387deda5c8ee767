// Package stack is Stoker in one process: the servers of package local, a dispatcher, a worker with
// the trainer and the tuner and, if requested, a bridge from the store to the bus. It only composes
// other packages.
//
// Read With first.
package stack
