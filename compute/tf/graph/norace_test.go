//go:build !race

package graph_test

// madeFactor is how many times its limit a graph may allocate one after another.
const madeFactor = 4
