// Package tfevents writes and reads the files that TensorBoard displays: event files (tfevents)
// with scalars, histograms, text and hyperparameters. Open returns a Writer for one directory; Load
// reads directories. compute/data/tfrecord has the framing of the files.
//
// # The files
//
// An event file is a TFRecord file of tensorflow.Event messages (tensorflow/core/util/event.proto),
// plain, called
//
//	events.out.tfevents.<unix seconds, 10 digits>.<host>.<pid>.<number>.v2
//
// Its first event is the file_version "brain.Event:2". A directory with such files is a run, named
// by its path below the log directory; Keras writes two, train and validation. TensorBoard reads
// the files of one directory one after another, by name.
//
//	scalar      float32 scalar tensor, plugin "scalars", class SCALAR
//	histogram   float64 tensor [k, 3] of left edge, right edge, count; plugin "histograms",
//	            class TENSOR
//	text        string scalar tensor, plugin "text", class TENSOR; displayed as Markdown
//	hparams     everything in the metadata: plugin "hparams", content a
//	            tensorboard.hparams.HParamsPluginData
//
// # Resuming after an interruption
//
// A training that resumes from step S opens the directory again with From S+1: a new file begins,
// with a session event that voids the events of earlier files from that step on (TensorBoard's
// rule; Load follows it). So no step counts twice.
package tfevents
