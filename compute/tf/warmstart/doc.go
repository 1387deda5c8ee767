// Package warmstart initializes the weights of a new model from a model that was trained before, by
// Stoker or by TensorFlow.
//
// Open finds weights in a Model artifact, a SavedModel or a checkpoint. Start copies them into the
// params of a new model, and returns a Table with the source of each param, or the reason why it
// has none. The meaning of a row of a weight (a feature, a token of its vocabulary) is found in
// both models' graphs, so that rows move with their meaning: a vocabulary may have grown, and
// features may be in another order. GraphRows returns it for a new model, and Source for an old
// one. Network and Source have the names of the classes, by which the columns of the last layer
// move.
//
// The formats themselves are implemented in compute/tf/tensorbundle, and training continues in
// compute/train. Read Source first.
package warmstart
