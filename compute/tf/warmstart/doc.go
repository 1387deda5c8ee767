// Package warmstart is where a new model's weights come from when it doesn't start from nothing: a
// model that was trained before, by Stoker or by TensorFlow.
//
// Open finds weights in what others wrote: a Model artifact, a SavedModel, a checkpoint. Start puts
// them into the params of a new model, and returns a Table that says of each param what was taken
// from where, or why nothing was. What a row of a weight stands for (a feature, a token of its
// vocabulary) is found in both models' graphs, so that rows move with their meaning: a vocabulary
// may have grown, and features may stand in another order. GraphRows says it of a new model; of an
// old one Source knows it. Network and Source know what the classes are, by which columns of the
// last layer move.
//
// The formats themselves are not here but in compute/tf/tensorbundle, and training goes on in
// compute/train. Read Source first.
package warmstart
