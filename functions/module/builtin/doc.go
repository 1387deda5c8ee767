// Package builtin holds the compiled-in modules: models for tables of features that need no code,
// only a schema and a few keys in a pipeline's custom_config. Start with runner.run: configuration,
// survey of the data, network, then functions/module/training, then the export. Layers, losses,
// files and the loop are in compute.
//
// # Modules
//
//	dnn        dense hidden layers over all features
//	linear     the same without hidden layers
//	wide_deep  wide & deep: the sum of the logits of dnn and of a linear model over the classes of
//	           all features that have classes
//
// # Training data
//
// The model is trained on every feature of the schema but the label. With a transform graph the
// schema is that of the transformed features inside it. Raw examples go through the graph as they
// are read, in Go (compute/tf/transform), and give the same model, bit for bit, as transformed
// ones. Without a graph the schema is the raw one. An example with more values than the shape of a
// feature allows is bad input; a feature without a shape has one value.
//
//   - Numbers: transformed ones are used as they are, and must be finite. Raw ones are standardized
//     with mean and standard deviation of the train split, which become part of the model; a
//     missing value, or NaN, is replaced by the mean. If all values are the same, the model learns
//     nothing from them, and other values don't change its predictions. The key normalize selects
//     another method.
//   - Integers, raw or transformed: standardized as above, a missing one being replaced by the
//     rounded mean; or, if the schema declares them categorical, one class for each value of the
//     domain (an open end is closed by the values of the train split) and one for all others:
//     missing ones, and -1, to which tf.Transform maps a word outside its vocabulary.
//   - Strings: one class for each value of the schema's domain and one for all others; without a
//     domain, hash buckets. A missing one is the empty string.
//
// Up to 100 classes are one-hot encoded, more are embedded. A cross of features has a class for
// each combination of their values, by the hash of tf.sparse.cross_hashed and Keras's
// HashedCrossing. In dnn it is one-hot or embedded too; linear and wide_deep's linear part learn a
// weight for each of its classes.
//
// # custom_config
//
// All keys are optional but label. Any other key is an error.
//
//	label               the feature to predict; name also finds name_xf. label_key is an alias
//	task                classification, binary or regression. Left out: regression for a number;
//	                    for an integer or a string
//	                    binary with two classes and classification with more
//	num_classes         how many classes the label has. Left out: from the schema's domain, or the
//	                    values in the train split
//	hidden_units        list of layer sizes (not linear): [8, 8]
//	activation          of hidden layers: relu, tanh, sigmoid or linear: relu
//	dropout             share of a hidden layer's outputs that a training step leaves out
//	                    (not linear), from 0 to below 1: 0
//	batch_normalization true: hidden layers are normalized before their activation, as in Keras
//	                    (not linear): false
//	l1, l2              factors of the sums of |w| and of w^2 of the dense layers' weights,
//	                    which are added to the training loss: 0
//	initializer         of the dense layers' weights, by Keras's name (he_normal,
//	                    lecun_uniform, orthogonal ...): glorot_uniform
//	features            list of the features to learn from, by name as label; or
//	exclude_features    list of those to ignore, whatever their values. Neither key: all are used
//	crosses             lists of features to cross: [[hour, company], [a, b, c]]. The features
//	                    are strings or integers
//	cross_buckets       classes of each cross: 1000
//	normalize           how raw numbers are scaled (not with a transform graph, which does it):
//	                    zscore, by mean and standard deviation, or minmax, to 0 to 1 by the
//	                    smallest and the largest of the train split; values beyond them go beyond
//	                    0 and 1. One method for all numbers, or an object for some: {age: minmax}.
//	                    Missing values and NaN are the mean in either. Left out: zscore
//	loss                of a number: mean_squared_error (mse), mean_absolute_error (mae) or huber,
//	                    with huber_delta: 1. For classes there is only one
//	label_smoothing     share of each target that is spread over all classes, from 0 to below 1: 0
//	class_weights       weights of the rows of a class in training, by its string or number, 1 for
//	                    classes not listed: {"0": 1, "1": 5}; or balanced: all classes have the
//	                    same total weight in the train split
//	weight_column       feature with the weight of a row, 0 or more, in training and in the
//	                    metrics; it is no input of the model
//	optimizer           by Keras's name, with Keras's defaults: one of compute/nn/optim's Names,
//	                    which an error lists too. Left out: adam
//	learning_rate       above 0, or 0 if a schedule warms up from there: 0.01
//	learning_rate_schedule  by Keras's name and arguments: {name: CosineDecay, decay_steps: 1000};
//	                    ExponentialDecay, PolynomialDecay and so on. It starts from learning_rate
//	                    unless it has an initial rate. In wide_deep it is that of all but the
//	                    linear part
//	clip_value, clip_norm, global_clip_norm  one of them: a bound for each gradient, for the norm
//	                    of each weight's gradients, or for the norm of all gradients
//	linear_optimizer    of the wide part (wide_deep only): ftrl
//	linear_learning_rate  its rate (wide_deep only): 0.05
//	linear_learning_rate_schedule  its schedule, like learning_rate_schedule (wide_deep only). It
//	                    starts from linear_learning_rate
//	batch_size          rows per training step: 32
//	eval_batch_size     rows per evaluation step. Left out: the batch_size given here, even if a
//	                    search varies it
//	embedding_dim       size of the embedding of a class: 8
//	hash_buckets        for strings without a domain: 100
//	seed                for initial weights and shuffling: the assignment's
//	epochs              how often the train split is read at most. Left out: as often as the steps
//	                    need
//	checkpoint_every    steps between checkpoints. Left out, or 0: by time only
//	checkpoint_seconds  of training between checkpoints, whatever the steps: 30; 0: by steps only.
//	                    If a worker dies, the work since the last checkpoint is repeated; the
//	                    result is the same
//	threads             of this computer that share the work of a step: 1, since a worker's slots
//	                    share its cores. They don't change the result; use them if layers and
//	                    batches are large
//	evaluate_every      steps between two evaluations during the training, for the curves of the
//	                    run log and of the console, on all evaluation rows. They don't change the
//	                    result. More than there are steps: only the trained model is evaluated.
//	                    Left out, or 0: 10 to 20 evaluations in about a tenth of the training's
//	                    time, on as many of the first rows as that allows
//	histograms          steps between two histograms of the weights in the run log: 0, none. The
//	                    interval grows with the number of steps
//	warm_start          which weights of the base model are loaded, see below
//	space               what a search varies, see below
//
// A loss is divided by the number of rows, not by their weights, as in Keras. A change of only
// threads, checkpoint_every or checkpoint_seconds does not cause a new training: the existing model
// is the result.
//
// The hyperparameters of a search override: learning_rate, batch_size, optimizer, activation,
// dropout, l1, l2, embedding_dim, seed, linear_learning_rate and linear_optimizer, and num_layers
// and units, which stand for num_layers hidden layers of that many units (units left out: the first
// of hidden_units). Others are logged and ignored. learning_rate is the initial rate of a schedule,
// even if the schedule has its own; with PiecewiseConstantDecay, which gives the rate of every
// step, it can't be varied. The same holds for linear_learning_rate and its schedule.
//
// # Searches
//
// A pipeline with a tuner searches without code: for the best accuracy on the evaluation splits, or
// auc with two classes, or rmse of a number, in 20 trials by Bayesian optimization. The first trial
// uses custom_config unchanged. tuner.study overrides these defaults. The search varies the
// learning rate, num_layers, units, activation and dropout (linear: the learning rate and the
// optimizer), or the parameters of the key space: an object with a range, a list of choices, or a
// fixed value for some of the hyperparameters above,
//
//		space:
//	 learning_rate: {min: 1e-4, max: 1e-1, sampling: log}
//	 units: {min: 8, max: 128, step: 8, default: 16}
//	 activation: [relu, tanh]
//
// or a list as in best_hyperparameters.txt, which can give the conditions under which a parameter
// applies. All trials have the same seed, unless it is varied.
//
// A trial is the same training, bit for bit, as one with its values, and is evaluated on the
// evaluation splits up to eight times on the way. Its messages carry those metrics under their
// final names, and the training loss as train_loss. A trial whose loss is not finite has failed.
// Trials of one study in one process survey their data once.
//
// With tuner.study.validation a trial trains a model for each fold of the rows of the train split,
// and reports the means over the folds; the evaluation splits are not read. See foldTrial.
//
// # Base models
//
// If the assignment has a base model, training starts from its weights. The base model may be one
// of a builtin module, or one saved by TensorFlow, Keras 2 or 3, or an Estimator
// (compute/tf/warmstart). The log lists each weight that was loaded, and why others were not.
// Weights are matched by name, or, if Keras numbered the layers, by order and kind. Shapes must be
// equal, except in layers that take features: there the row of a feature or token moves to its
// current position, and a vocabulary may have grown. A class keeps its weights in the last layer,
// at any position of its string or number; if the base model does not name its classes, they are
// matched by position, and the table says so. The rest is up to warm_start, an object with
//
//	map     of this module's names to the base model's: {"dense_1/kernel": "hidden/kernel"}
//	only    a regular expression: weights whose names do not match it are initialized anew
//	except  a regular expression: weights whose names match it are initialized anew
//
// This module's names are features/<feature>/embeddings, dense_1/kernel, dense_1/bias,
// dense_1/batch_normalization/gamma (and beta, moving_mean, moving_deviation), dense_2/kernel and
// so on, logits/kernel and logits/bias; crosses/<a>_x_<b>/embeddings, or weights. Mean and standard
// deviation of raw numbers are those of this run's data, and never loaded.
//
// # Outputs
//
// A module writes a SavedModel to serving_model_dir, with outputs "logits" and "probabilities", or
// "predictions" for regression; the same for model analysis to eval_model_dir; and the formats of
// exports, whose inputs.json describes the inputs. To model_run_dir it writes metrics.json, with
// the metrics on the evaluation splits; for classes, confusion_matrix.json, where counts[i][j] is
// how many rows of class i the model predicts as class j; and event files for TensorBoard (type
// Training of compute/tfevents). Below working_dir it writes checkpoints, and resumes from those
// that it finds there. A worker keeps each checkpoint in the store, so that another attempt can
// resume from it on any worker.
package builtin
