// Package training trains a network for a module: it is the one training path of builtin modules, their
// trials, and modules in the style of Estimators. It does not build networks, and it does not export
// them: builtin and estimator do, before and after Training.Run.
//
// # Data flow
//
//	assignment, schema
//	  -> builtin: config, survey of the data, network     estimator: spec, feature columns, network
//	  -> Training.WarmStart: weights of a base model
//	  -> Training.Run: settings, rows, run log, steps with checkpoints and evaluations
//	  -> WriteMetrics: metrics.json, confusion_matrix.json
//	  -> builtin: one export                              estimator: the exports of its exporters
//
// Steps, checkpoints and evaluations are compute/train's, event files compute/tfevents'. Read Training
// first.
package training
