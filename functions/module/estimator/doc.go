// Package estimator is for modules in the style of TensorFlow's Estimators: a Trainer says what is learnt from what, and
// how it is evaluated and exported, as the trainer_fn of a TFX module file does; everything else is done here. A program is
//
//	func main() { estimator.Main(trainer) }
//
//	func trainer(args *module.Args, schema *example.Schema) (estimator.Spec, error) { ... }
//
// Read Spec first. local/examples/taxi is the taxi module of TFX's documentation, written this way, and is there to be copied.
//
// # What is as in TensorFlow
//
// Feature columns, heads, default optimizers and learning rates, the names of variables, and train_and_evaluate: a checkpoint
// every so many steps or seconds, an evaluation of each, throttled, exporters asked after each, and a last evaluation and
// export when max_steps are done. Exports stand at Format-Serving/export/<exporter>/<unix seconds>/ in the model_run
// folder, where Estimators leave them, and the one that is to be served flat in Format-Serving of the model, where TFX's
// Trainer copies it.
//
// WeightColumn is weight_column: a feature of one number, 0 or more, by which the loss of a row is multiplied before it is summed up and divided
// by the number of rows, whatever they weigh. Metrics are by weight, but for loss, which is that of the training. It is learnt from only where a column names
// it, and a model that is served asks for it only then; of raw features that go through a transform graph ServingInput.Labels says so.
//
// # What is not
//
//   - Two exporters, or one that keeps several exports: TFX then fails after the training. Here Spec.Serve names the exporter
//     whose newest export is served.
//   - A training ends where its data do, and that end is as good as max_steps: it is exported.
//   - The model's signature serving_default answers what Estimators' predict signature does. all_class_ids and all_classes, which
//     are the same for each row, are left out.
//   - An evaluation ends with the data at the latest; steps says where to end before. It reads the data in order.
//   - Batch normalization, weighted_categorical_column, several values in a row of a feature without a shape: not here.
//
// The network, the loop, the files: compute/nn, compute/train, compute/export.
package estimator
