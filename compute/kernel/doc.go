// Package kernel is the arithmetic of training on a processor's cores: products of matrices,
// functions of each element, sums, softmax, look-ups in tables, and the formulas by which
// optimizers change weights. All of it is float32, row major, and without allocation.
//
// Every function here is written twice at most: in Go, which is what it means and what runs where
// nothing faster is known, and in assembly for what Level says the processor can do. Both are
// tested against each other with random and hostile numbers. A result may differ between Levels in
// its last bits, never between two runs at one Level, and never by the number of threads: a Team
// divides what is written, and each element is computed by one thread in one order.
//
// Slices must have the lengths that a comment names; a function panics on shorter ones, before it
// writes anything. NaN and infinities go through as IEEE 754 says unless a comment says otherwise.
//
//go:generate go -C asm run .
package kernel
