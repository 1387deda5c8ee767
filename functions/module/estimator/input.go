package estimator

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// Input is an input_fn: batches of features and their label, from files of tf.Examples.
type Input struct {
	Files     []string     // patterns: args.TrainFiles or args.EvalFiles
	Features  example.Spec // what is read, including the label
	Label     string       // one of them
	BatchSize int          // rows

	Epochs int // how often the data are read; 0: forever in training, once in evaluation
	// How many records are shuffled at a time; 0: 10000 in training, 1 in evaluation; 1: in order.
	ShuffleBuffer int
}

// TransformedFeatures returns the features of transformed examples, from the transform graph's
// transformed_metadata: TFTransformOutput.transformed_feature_spec.
func TransformedFeatures(args *module.Args) (example.Spec, error) {
	if !args.Transformed || args.TransformGraphPath == "" {
		return nil, errors.New("this module learns from transformed examples: it needs them with their transform graph")
	}
	schema, err := example.ReadSchema(filepath.Join(args.TransformGraphPath, "transformed_metadata", "schema.pbtxt"))
	if err != nil {
		return nil, err
	}
	return schema.Spec()
}

func (in Input) check() error {
	switch _, ok := in.Features.Find(in.Label); {
	case len(in.Files) == 0:
		return errors.New("no files")
	case in.BatchSize < 1:
		return fmt.Errorf("batch size %d, expected at least 1", in.BatchSize)
	case !ok:
		return fmt.Errorf("label %q is no feature, expected one of %v", in.Label, in.Features.Names())
	}
	return nil
}

func (in Input) training(seed int64, log *slog.Logger) example.Options {
	return example.Options{
		Patterns: in.Files, Spec: in.Features, BatchSize: in.BatchSize, Epochs: in.Epochs, Logger: log,
		ShuffleBuffer: cmp.Or(in.ShuffleBuffer, training.ShuffleBuffer), Seed: uint64(seed),
	}
}

func (in Input) evaluation(log *slog.Logger) example.Options {
	return example.Options{
		Patterns: in.Files, Spec: in.Features, BatchSize: in.BatchSize, Epochs: max(in.Epochs, 1), Logger: log,
		ShuffleBuffer: in.ShuffleBuffer,
	}
}

// feed returns how rows become inputs of the model. A batch may have only rows of weight 0: then
// its loss is 0, as in TensorFlow.
func (in Input) feed(n network, p plan) train.Feed {
	return train.Feed{Inputs: n.Graph.Inputs, Defaults: n.defaults, Label: p.head.label(in.Label), Weight: p.weight, AllowIdle: true}
}

// ServingInput is the input of an exported model: serialized tf.Examples of raw features, a
// serving_input_receiver_fn.
type ServingInput struct {
	// The folder of the transform graph that computes the features: args.TransformGraphPath.
	TransformGraph string
	Features       example.Spec // without a transform graph: how they are parsed
	// Raw features that a request may leave out, although they are inputs of the transform graph.
	Labels []string
}

func (s ServingInput) check() error {
	if (s.TransformGraph == "") == (s.Features == nil) {
		return errors.New("serving input: expected either a transform graph or raw features")
	}
	return nil
}

func (s ServingInput) model(n network) savedmodel.Model {
	return savedmodel.Model{Graph: n.Graph, Spec: s.Features, Defaults: n.defaults, TransformGraph: s.TransformGraph, Labels: s.Labels}
}
