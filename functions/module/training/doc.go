// Package training trains a network for a module: builtin modules, their trials, and modules in the
// style of Estimators all use it. It does not build or export networks: packages builtin and
// estimator do, before and after Training.Run.
//
// # Data flow
//
//	assignment, schema
//	  -> builtin: config, survey of the data, network  estimator: spec, feature columns, network
//	  -> Training.WarmStart: weights of a base model
//	  -> Training.Run: settings, rows, run log, steps with checkpoints and evaluations
//	  -> WriteMetrics: metrics.json, confusion_matrix.json
//	  -> builtin: one export                           estimator: the exports of its exporters
//
// Steps, checkpoints and evaluations are in compute/train, event files in compute/tfevents. Read
// Training first.
package training
