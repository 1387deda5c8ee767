// Package estimator is for modules in the style of TensorFlow's Estimators: a Trainer returns what
// to train on which data, and how to evaluate and export it, like the trainer_fn of a TFX module
// file. The package does the rest. A program is
//
//	func main() { estimator.Main(trainer) }
//
//	func trainer(args *module.Args, schema *example.Schema) (estimator.Spec, error) { ... }
//
// Read Spec first. local/examples/taxi is the taxi module of TFX's documentation, written this way;
// copy it to start.
//
// # Same as TensorFlow
//
// Feature columns, heads, default optimizers and learning rates, the names of variables, and
// train_and_evaluate: a checkpoint every so many steps or seconds, an evaluation of each,
// throttled, exporters asked after each, and a last evaluation and export when max_steps are done.
// Exports are at Format-Serving/export/<exporter>/<unix seconds>/ in the model_run folder, where
// Estimators write them, and the one to serve is directly in Format-Serving of the model, where
// TFX's Trainer copies it.
//
// WeightColumn is weight_column: a feature of one number, 0 or more, by which the loss of a row is
// multiplied before it is summed and divided by the number of rows, whatever their weights. Metrics
// are weighted, except loss, which is that of the training. The feature is an input of the model
// only if a column names it, and only then does a served model need it. For raw features that go
// through a transform graph, list it in ServingInput.Labels.
//
// # Different from TensorFlow
//
//   - Two exporters, or one that keeps several exports: TFX fails after such a training. Here
//     Spec.Serve names the exporter whose newest export is served.
//   - A training ends with its data at the latest, and is exported as after max_steps.
//   - The model's signature serving_default has the outputs of the predict signature of Estimators.
//     all_class_ids and all_classes, which are the same for each row, are left out.
//   - An evaluation ends with the data at the latest, or after steps. It reads the data in order.
//   - Batch normalization, weighted_categorical_column, and several values per row of a feature
//     without a shape are not supported.
//
// The network, the loop and the files are in compute/nn, compute/train and compute/export.
package estimator
