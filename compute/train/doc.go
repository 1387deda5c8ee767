// Package train is the training loop: batches in, a trained model and its metrics out. It takes
// steps, evaluates, writes checkpoints and resumes from them, and ends early when its context ends.
//
// Read Run first. Layers, losses and optimizers are in compute/nn; compute/data/example reads
// files, and FromExamples joins the two; the module that calls Run chooses the model.
package train
