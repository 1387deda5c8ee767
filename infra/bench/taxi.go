package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// The real function: how well builtin:dnn classifies tippers after one pass over some trips.
const (
	taxi     = "taxi"
	taxiData = "local/examples/taxi/data" // from the repository's root, where the bench is run

	// Rows that a trial trains on, whatever its batch size is, so that all trials take about the
	// same time.
	taxiRows     = 2048
	taxiEvalRows = 2048
	taxiBatch    = 512 // of an evaluation
)

// taxiFunction trains builtin:dnn in this process, on trips that tf.Transform prepared, with a
// fixed seed: same values, same bits. Its value is the area under the ROC curve on the eval split.
func taxiFunction(ctx context.Context) quality.Function {
	return quality.Function{Name: taxi, Space: taxiSpace(), Direction: tune.Max, Best: math.NaN(),
		At: func(values space.Values) (float64, error) { return trainTaxi(ctx, values) }}
}

func taxiSpace() space.Space {
	number := func(name string, kind space.Kind, least, most, step float64, scale space.Sampling) space.Parameter {
		return space.Parameter{Name: name, Kind: kind, Min: least, Max: most, Step: step, Sampling: scale}
	}
	return space.Space{
		number("learning_rate", space.Float, 1e-4, 1, 0, space.Log),
		number("num_layers", space.Int, 0, 4, 1, space.Linear),
		number("units", space.Int, 2, 64, 0, space.Log),
		number("batch_size", space.Int, 16, 256, 2, space.Log),
		{Name: "optimizer", Kind: space.Choice, Choices: []any{"adam", "sgd", "momentum", "adagrad", "ftrl"}, Default: "adam"},
		{Name: "activation", Kind: space.Choice, Choices: []any{"relu", "tanh", "sigmoid"}, Default: "relu"},
	}
}

func trainTaxi(ctx context.Context, values space.Values) (auc float64, err error) {
	a, err := taxiAssignment(values)
	if err != nil {
		return 0, err
	}
	err = inTempDir(func(dir string) error {
		a.WorkingDir = dir
		return builtin.Run(ctx, "dnn", a, func(m module.Message) { auc = m.Metrics["auc"] })
	})
	if err != nil {
		return 0, fmt.Errorf("train on taxi: %w", err)
	}
	return auc, nil
}

func taxiAssignment(values space.Values) (module.Assignment, error) {
	data, err := filepath.Abs(taxiData)
	if err != nil {
		return module.Assignment{}, err
	}
	batch, _ := values.Lookup("batch_size")
	size, whole := batch.(int64)
	if !whole {
		return module.Assignment{}, fmt.Errorf("batch_size: %v is no whole number", batch)
	}
	split := func(name string) []string {
		return []string{filepath.Join(data, "transformed_examples", "Split-"+name, "*")}
	}
	return module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: module.BuiltinPrefix + "dnn"}, Call: module.CallTrial,
		Trial:      &module.Trial{Study: taxi, ID: "0000"},
		TrainFiles: split("train"), EvalFiles: split("eval"), Transformed: true,
		TransformGraphPath: filepath.Join(data, "transform_graph"),
		TrainSteps:         new(taxiRows / int(size)), EvalSteps: new(taxiEvalRows / taxiBatch),
		CustomConfig:    map[string]any{"label": "tips_xf", "eval_batch_size": taxiBatch},
		Hyperparameters: map[string]any{"values": values.Map()},
		Seed:            1,
	}, nil
}
