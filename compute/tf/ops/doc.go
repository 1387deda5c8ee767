// Package ops computes TensorFlow's ops in Go: ops.go lists the files, one for each group of ops.
// Their results in special cases were observed in TensorFlow, and are documented if they aren't
// obvious.
//
// A kernel charges what it allocates to the Budget of its call, and polls its context: see Do.
//
// Read Op first, then Call. Only compute/tf/graph knows the order of nodes, and the sources of
// constants and tables.
package ops
