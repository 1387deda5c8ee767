// Package ops computes TensorFlow's ops in Go: one idea a file, listed in ops.go. What each gives
// in the odd cases was observed in TensorFlow, and is stated where it isn't obvious.
//
// A kernel charges what it allocates to the Budget of its call, and polls its context: see Do.
//
// Read Op first, then Call. How nodes are put in order, and where constants and tables come from,
// is known to compute/tf/graph alone.
package ops
