// Package train is the loop: batches in, a trained model and its metrics out. It takes steps,
// evaluates, writes checkpoints and goes on from them, and ends early when its context does.
//
// Start with Run. Layers, losses and optimizers are in compute/nn; reading files is in
// compute/data/example, and FromExamples joins the two; what kind of model suits which data is for
// the module that calls Run.
package train
