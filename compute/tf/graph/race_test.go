//go:build race

package graph_test

// madeFactor is how many times its limit a graph may allocate one after another. The race detector
// has sync.Pool, which regular expressions take their memory from, forget at random.
const madeFactor = 64
