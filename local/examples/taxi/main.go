// Command taxi is the chicago-taxi module of TFX's documentation as a Go module: will a passenger
// tip well? It is a wide & deep model, defined as with Estimators, and needs no Python. Copy it and
// change trainer.
package main

import (
	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/estimator"
)

func main() { estimator.Main(trainer) }

// The transformed features of the trips.
var (
	denseFloats = []string{"trip_miles_xf", "fare_xf", "trip_seconds_xf"}
	vocabulary  = []string{"payment_type_xf", "company_xf"}
	buckets     = []string{"pickup_latitude_xf", "pickup_longitude_xf", "dropoff_latitude_xf", "dropoff_longitude_xf"}
	categories  = map[string]int{"trip_start_hour_xf": 24, "trip_start_day_xf": 31, "trip_start_month_xf": 12}
)

const (
	label, rawLabel = "tips_xf", "tips"

	vocabularySize = 1000 + 10 // words, and buckets for others
	bucketCount    = 10
	batchSize      = 40
)

// trainer returns the model, its features and its label. Everything else is done by the estimator
// package: checkpoints, evaluations, exports.
func trainer(args *module.Args, _ *example.Schema) (estimator.Spec, error) {
	features, err := estimator.TransformedFeatures(args)
	if err != nil {
		return estimator.Spec{}, err
	}
	serving := estimator.ServingInput{TransformGraph: args.TransformGraphPath, Labels: []string{rawLabel}}
	return estimator.Spec{
		Estimator: estimator.DNNLinearCombinedClassifier{
			LinearFeatureColumns: wide(),
			DNNFeatureColumns:    deep(),
			DNNHiddenUnits:       []int{100, 70, 48, 34}, // each layer 0.7 of the one before
			Config:               estimator.RunConfig{SaveCheckpointsSteps: 999, KeepCheckpointMax: 1},
		},
		Train: estimator.TrainSpec{
			Input:    estimator.Input{Files: args.TrainFiles, Features: features, Label: label, BatchSize: batchSize},
			MaxSteps: args.TrainSteps,
		},
		Eval: estimator.EvalSpec{
			Name:      "chicago-taxi-eval",
			Input:     estimator.Input{Files: args.EvalFiles, Features: features, Label: label, BatchSize: batchSize},
			Steps:     args.EvalSteps,
			Exporters: []estimator.Exporter{estimator.FinalExporter{Name: "chicago-taxi", ServingInput: serving}},
		},
		EvalReceiver: &serving,
	}, nil
}

// wide returns the columns whose every value has a weight of its own.
func wide() (columns []estimator.LinearColumn) {
	for _, key := range vocabulary {
		columns = append(columns, estimator.Identity{Key: key, NumBuckets: vocabularySize})
	}
	for _, key := range buckets {
		columns = append(columns, estimator.Identity{Key: key, NumBuckets: bucketCount})
	}
	for key, size := range categories {
		columns = append(columns, estimator.Identity{Key: key, NumBuckets: size})
	}
	return columns
}

// deep returns the columns that go through hidden layers.
func deep() (columns []estimator.DenseColumn) {
	for _, key := range denseFloats {
		columns = append(columns, estimator.Numeric{Key: key})
	}
	return columns
}
