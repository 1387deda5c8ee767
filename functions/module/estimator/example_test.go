package estimator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/estimator"
)

// tippers is a trainer: will a passenger tip well? It is a linear model over the payment and the
// company.
func tippers(args *module.Args, _ *example.Schema) (estimator.Spec, error) {
	features, err := estimator.TransformedFeatures(args)
	if err != nil {
		return estimator.Spec{}, err
	}
	in := estimator.Input{Features: features, Label: "tips_xf", BatchSize: 40}
	train, eval := in, in
	train.Files, eval.Files = args.TrainFiles, args.EvalFiles
	serving := estimator.ServingInput{TransformGraph: args.TransformGraphPath, Labels: []string{"tips"}}
	return estimator.Spec{
		Estimator: estimator.LinearClassifier{
			FeatureColumns: []estimator.LinearColumn{
				estimator.Identity{Key: "payment_type_xf", NumBuckets: 16}, estimator.Identity{Key: "company_xf", NumBuckets: 55},
			},
			Config: estimator.RunConfig{SaveCheckpointsSteps: 100},
		},
		Train: estimator.TrainSpec{Input: train, MaxSteps: args.TrainSteps},
		Eval: estimator.EvalSpec{
			Input: eval, Steps: args.EvalSteps, Throttle: estimator.NoThrottle,
			Exporters: []estimator.Exporter{estimator.BestExporter{Name: "best", ServingInput: serving, ExportsToKeep: 1}},
		},
	}, nil
}

// A program needs only estimator.Main(tippers). A test calls Run, with its own clock, since exports
// are named after the time.
func Example() {
	out, err := os.MkdirTemp("", "tippers-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(out)
	err = train(out, module.Module{Train: func(ctx context.Context, args *module.Args) error {
		return estimator.Run(ctx, args, tippers, func() time.Time { return time.Unix(1577836800, 0) })
	}})
	fmt.Println("error:", err)
	exports, _ := filepath.Glob(filepath.Join(out, "model_run", "Format-Serving", "export", "*", "*", "saved_model.pb"))
	for _, path := range exports {
		name, _ := filepath.Rel(out, path) // it is below
		fmt.Println(name)
	}
	// Output:
	// error: <nil>
	// model_run/Format-Serving/export/best/1577836802/saved_model.pb
}

// train runs an assignment like a worker's process: one line of JSON in, progress out.
func train(out string, m module.Module) error {
	data, err := filepath.Abs("../../../local/examples/taxi/data")
	if err != nil {
		return err
	}
	line, err := json.Marshal(module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: "tippers"}, Call: module.CallTrain, TrainSteps: new(300),
		TrainFiles:         []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
		EvalFiles:          []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		TransformGraphPath: filepath.Join(data, "transform_graph"), Transformed: true,
		ServingModelDir: filepath.Join(out, "model", "Format-Serving"), ModelRunDir: filepath.Join(out, "model_run"),
		WorkingDir: filepath.Join(out, "working"),
	})
	if err != nil {
		return err
	}
	return module.Serve(context.Background(), bytes.NewReader(append(line, '\n')), io.Discard, m)
}
