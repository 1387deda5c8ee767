// Package builtin holds the modules that are compiled in: models for tables of features that need no code, only a schema
// and a few words in a pipeline's custom_config. Start with runner.run: configuration, survey
// of the data, network, then functions/module/training, then the export. Layers, losses, files and the loop are in compute.
//
// # Modules
//
//	dnn        dense hidden layers over all features
//	linear     the same without hidden layers
//	wide_deep  wide & deep: dnn plus a linear model over the classes of all features that have some; their logits are added
//
// # What is trained on
//
// Every feature of the schema but the label. With a transform graph the schema is the one of transformed features inside it:
// examples that are raw still go through the graph as they are read, in Go (compute/tf/transform), and give the same model, bit
// for bit, as transformed ones. Without a graph the schema is the raw one. An example with more values than its feature has
// places is bad input; a feature without a shape has one place.
//
//   - Numbers: transformed ones are taken as they are, and must be finite. Raw ones are standardized with mean and standard
//     deviation of the train split, which become part of the model; a missing one, or NaN, is taken for the mean. Where all
//     are the same, nothing is learnt from them, and no other value changes an answer. normalize says otherwise.
//   - Integers, raw or transformed: standardized as above, a missing one being taken for the rounded mean; or, where the
//     schema calls them categorical, one class for each value of the domain (its open ends closed by what the train split holds)
//     and one for all others: missing ones, and -1, which is what tf.Transform makes of a word outside its vocabulary.
//   - Strings: one class for each value of the schema's domain and one for all others; without a domain, hash buckets.
//     A missing one is the empty string.
//
// Up to 100 classes are one-hot, more are embedded. A cross of features has a class for each combination of their values, by a hash: the
// one of tf.sparse.cross_hashed and Keras's HashedCrossing. In dnn it is one-hot or embedded too; linear and wide_deep's linear part
// learn a weight for each of its classes.
//
// # custom_config
//
// All keys are optional but label. Any other key is an error.
//
//	label               the feature to predict; name_xf is found by name as well. label_key is another name for it
//	task                classification, binary or regression. Left out: a number is regression; an integer or a string is
//	                    binary with two classes and classification with more
//	num_classes         how many classes the label has. Left out: from the schema's domain, or the values in the train split
//	hidden_units        list of layer sizes (not linear): [8, 8]
//	activation          of hidden layers: relu, tanh, sigmoid or linear: relu
//	dropout             share of a hidden layer's outputs that a training step leaves out (not linear), from 0 to below 1: 0
//	batch_normalization  true: hidden layers are normalized before their activation, as Keras does it (not linear): false
//	l1, l2              factors of the sums of |w| and of w^2 of the dense layers' weights, which count in the loss of the training: 0
//	initializer         of the dense layers' weights, by Keras's name (he_normal, lecun_uniform, orthogonal ...): glorot_uniform
//	features            list of the features to learn from, by name as label; or
//	exclude_features    list of those to leave out, whatever they hold. Left out, both: all are learned from
//	crosses             lists of features to cross: [[hour, company], [a, b, c]]. They are words or whole numbers
//	cross_buckets       classes of each cross: 1000
//	normalize           how raw numbers are scaled (not with a transform graph, which says it): zscore, by mean and standard deviation, or
//	                    minmax, to 0 to 1 by the smallest and the largest of the train split; values beyond them go beyond 0 and 1. For all numbers, or
//	                    an object of one for some: {age: minmax}. Missing ones and NaN are the mean in either. Left out: zscore
//	loss                of a number: mean_squared_error (mse), mean_absolute_error (mae) or huber, with huber_delta: 1. Of classes there is one
//	label_smoothing     how much of each target goes to all classes alike, from 0 to below 1: 0
//	class_weights       how much the rows of a class count in training, by its word or number, 1 where nothing is said: {"0": 1, "1": 5}; or
//	                    balanced: so that all classes count the same in the train split
//	weight_column       feature that says how much a row counts, in training and in the metrics, 0 or more; it is not learnt from
//	optimizer           by Keras's name, with Keras's defaults: one of compute/nn/optim's Names, which an error lists too. Left out: adam
//	learning_rate       above 0, or 0 where a schedule warms up from there: 0.01
//	learning_rate_schedule  Keras's, by name and arguments: {name: CosineDecay, decay_steps: 1000}; ExponentialDecay, PolynomialDecay and so
//	                    on. It starts from learning_rate where it doesn't say otherwise. In wide_deep it is that of all but the linear part
//	clip_value, clip_norm, global_clip_norm  one of them: a bound for each gradient, for the norm of each weight's gradients, of all of them
//	linear_optimizer    of the wide part (wide_deep only): ftrl
//	linear_learning_rate  its rate (wide_deep only): 0.05
//	linear_learning_rate_schedule  its schedule, like learning_rate_schedule (wide_deep only). It starts from linear_learning_rate
//	batch_size          rows a training step: 32
//	eval_batch_size     rows an evaluation step: batch_size as it stands here, whatever a search makes of it
//	embedding_dim       numbers for a class where classes are embedded: 8
//	hash_buckets        for strings without a domain: 100
//	seed                for initial weights and shuffling: the assignment's
//	epochs              how often the train split is read at most. Left out: as often as the steps need
//	checkpoint_every    steps between checkpoints. Left out, or 0: by time alone
//	checkpoint_seconds  of training between checkpoints, whatever the steps: 30; 0: by steps alone. A worker's death costs
//	                    what came after the last one, and never changes the result
//	threads             of this computer that take a step together: 1, since a worker's slots share its cores. They change no result, and pay
//	                    off where layers and batches are large
//	histograms          steps between two histograms of the weights in the run log: 0, none. They come less often as steps add up
//	warm_start          which weights of the base model are taken, see below
//	space               what a search varies, see below
//
// A loss is divided by the number of rows, whatever they count, as Keras does.
// A change of threads, checkpoint_every or checkpoint_seconds alone trains nothing again: the model that is there is the one asked for.
//
// Hyperparameters, where a search found some, override: learning_rate, batch_size, optimizer, activation, dropout, l1, l2, embedding_dim, seed,
// linear_learning_rate and linear_optimizer, and num_layers and units, which stand for num_layers hidden layers of that many
// units (units left out: the first of hidden_units). Others are logged and left alone. learning_rate is the initial rate of a schedule, also of
// one that has its own; PiecewiseConstantDecay, which gives every step's, leaves nothing to vary, and linear_learning_rate is the same to its schedule.
//
// # Searches
//
// A pipeline with a tuner searches with no code: for the best accuracy on the evaluation splits, or auc with two classes, or rmse of a
// number, in 20 trials by Bayesian optimisation, the first of which is custom_config as it stands. tuner.study says otherwise. What is
// varied is the learning rate, num_layers, units, activation and dropout (linear: the learning rate and the optimizer), or what space says: an
// object with, for some of the hyperparameters above, a range, a list to choose from, or a value that is fixed,
//
//	space:
//	  learning_rate: {min: 1e-4, max: 1e-1, sampling: log}
//	  units: {min: 8, max: 128, step: 8, default: 16}
//	  activation: [relu, tanh]
//
// or a list as best_hyperparameters.txt has it, which can say under which conditions a parameter applies. All trials have the same
// seed, unless it is varied.
//
// A trial is the training of its values, to the bit, measured on the evaluation splits up to eight times on its way: its messages carry
// those metrics by the name they have at the end, and the loss of the training as train_loss. One whose loss is no finite number has
// failed. Trials of one study in one process look at their data once.
//
// # Base models
//
// Where the assignment has a base model, training starts from its weights: those of a model that a builtin module trained, and of
// whatever TensorFlow, Keras 2 or 3, or an Estimator saved (compute/tf/warmstart). Each weight that was taken, and why another was
// not, is in the log. Weights find each other by name, or, where Keras counted layers, by order and kind; shapes have
// to be equal, but for layers that take features: there a feature's or a token's row goes where it stands now, and a
// vocabulary may have grown. A class keeps its weights in the last layer wherever its word or number stands among the others; of
// a base model that doesn't say what its classes are, classes are taken as they stand, and the table says so. What this does not decide,
// warm_start does, an object with
//
//	map     of this module's names to the base model's: {"dense_1/kernel": "hidden/kernel"}
//	only    a regular expression: weights whose names it does not match start from nothing
//	except  a regular expression: so do those whose names it matches
//
// This module's names are features/<feature>/embeddings, dense_1/kernel, dense_1/bias, dense_1/batch_normalization/gamma (and beta,
// moving_mean, moving_deviation), dense_2/kernel and so on, logits/kernel and logits/bias; crosses/<a>_x_<b>/embeddings, or weights. Mean and standard deviation of raw numbers are those of this run's data, and never taken.
//
// # What is left behind
//
// A SavedModel in serving_model_dir with outputs "logits" and "probabilities", or "predictions" for regression; the same
// for model analysis in eval_model_dir; the formats of exports, whose inputs.json says what to feed; metrics.json in
// model_run_dir with the metrics on the evaluation splits, of classes confusion_matrix.json, which says how many rows of each class
// (counts[i]) the model takes for which (counts[i][j]), and event files for TensorBoard (compute/tfevents's Training); checkpoints below working_dir, from which a training goes on that finds them there. A worker keeps each one in
// the store, so that another attempt goes on from it wherever it runs.
package builtin
