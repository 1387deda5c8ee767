// Package skew finds out whether a model that was written to files answers as the one that was
// trained: rows of evaluation data go raw through the files, read anew, and what comes out is
// compared with what the model in memory said of the same rows, and with the same rows as Transform
// had transformed them.
//
// A run may have no raw rows. Synthesize makes some of the transform graph's raw schema before the
// training, the model in memory is asked for what the graph makes of them, and Check compares
// (synthesize.go).
//
// Two right answers differ by how they were rounded, which is little for most models and much for
// some: the classes of a model whose logits are in the thousands are distinguished by a difference
// of large numbers. How much is found out by asking the model again with its weights rounded
// otherwise (rounding.go).
//
// The files are read by Go (compute/tf/savedmodel), and by TensorFlow itself where there is a
// Python that has it. What becomes of a difference is for others to say
// (functions/execution/trainer).
//
// Read Check first.
package skew
