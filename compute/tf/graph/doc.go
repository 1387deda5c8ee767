// Package graph reads graphs that TensorFlow saved, and executes their functions as TensorFlow
// does, without it: the protos of a SavedModel, its tree of objects, what functions capture
// (constants, variables, tables, assets), and a compiler from functions to flat plans.
//
// What a graph is for isn't known here: a TransformGraph artifact is read by compute/tf/transform,
// a served model by compute/tf/savedmodel. The ops themselves stand in compute/tf/ops.
//
// Graphs are programs of whoever made them. Executed here, they reach no file but the model's own
// variables and assets, and stay within Limits: DefaultBytes at a time (1 GiB, and four times the
// size of the model's files), DefaultSteps nodes a run, DefaultTime, and the context of the caller.
// Bytes are charged before they are allocated (ops.Budget). What goes beyond is an error with
// ErrLimit in its chain that names the node, its op, the bytes asked for and the limit. A file of
// graphs is read up to 512 MiB, and if its messages take at most 1 GiB and four times its size in
// memory. A graph unfolds to at most 131,072 nodes and 64 calls one within another, a pattern to
// 65,536 instructions, constants grow to at most 256 MiB beyond their file. After a context has
// ended, a search for a pattern in a long text may go on in a goroutine until it is done. Before
// TensorFlow itself is given a graph, Model.CheckOps says whether all its ops are allowed (Policy).
//
// Read Model first, then Program.
package graph
