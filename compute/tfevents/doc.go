// Package tfevents writes and reads what TensorBoard shows of a training: event files (tfevents)
// with scalars, histograms, text and hyperparameters. Open gives a Writer for one folder; Load
// reads folders back. The framing of the files is compute/data/tfrecord's.
//
// # The files
//
// An event file is a TFRecord file of tensorflow.Event messages (tensorflow/core/util/event.proto),
// plain, called
//
//	events.out.tfevents.<unix seconds, 10 digits>.<host>.<pid>.<number>.v2
//
// Its first event is the file_version "brain.Event:2". A folder with such files is a run, named by
// its path below the log folder; Keras writes two, train and validation. TensorBoard reads the
// files of one folder one after another, by name.
//
//	scalar      float32 scalar tensor, plugin "scalars", class SCALAR
//	histogram   float64 tensor [k, 3] of left edge, right edge, count; plugin "histograms",
//	            class TENSOR
//	text        string scalar tensor, plugin "text", class TENSOR; displayed as Markdown
//	hparams     everything in the metadata: plugin "hparams", content a
//	            tensorboard.hparams.HParamsPluginData
//
// # Going on after an interruption
//
// A training that goes on from step S opens the folder again with From S+1: a new file begins, with
// a session event that voids what earlier files hold from that step on (TensorBoard's rule; Load
// follows it). So no step counts twice.
package tfevents
