// Package ops computes TensorFlow's ops in Go: one idea a file, listed in ops.go. What each gives in the odd cases was
// observed in TensorFlow, and is told where it isn't plain.
//
// Read Op first, then Call. How nodes are put in order, and where constants and tables come from, is known to
// compute/tensorflow alone.
package ops
