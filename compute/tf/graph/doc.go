// Package graph reads graphs that TensorFlow saved, and executes their functions as TensorFlow
// does, without it: the protos of a SavedModel, its tree of objects, what functions capture
// (constants, variables, tables, assets), and a compiler from functions to flat plans.
//
// The package does not know the purpose of a graph: compute/tf/transform reads a TransformGraph
// artifact, compute/tf/savedmodel a served model. The ops themselves are implemented in
// compute/tf/ops.
//
// Graphs are programs that others wrote. Executed here, they reach no files except the model's own
// variables and assets, and stay within Limits: DefaultBytes at a time (1 GiB, and four times the
// size of the model's files), DefaultSteps nodes a run, DefaultTime, and the context of the caller.
// Bytes are charged before they are allocated (ops.Budget). A graph that exceeds them is an error
// with ErrLimit in its chain, which names the node, its op, the requested bytes and the limit. A
// file of graphs is read up to 512 MiB, and if its messages take at most 1 GiB and four times its
// size in memory. A graph unfolds to at most 131,072 nodes and 64 calls one within another, a
// pattern to 65,536 instructions, constants grow to at most 256 MiB beyond their file. After a
// context has ended, a search for a pattern in a long text may continue in a goroutine until it is
// done. Model.CheckOps checks that all ops of a graph are allowed (Policy), before TensorFlow
// itself executes it.
//
// Read Model first, then Program.
package graph
