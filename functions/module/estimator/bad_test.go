package estimator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

// Mistakes in a Trainer are errors before anything is trained, in terms of its fields.
func TestASpecThatCantBeIsRefused(t *testing.T) {
	t.Parallel()
	type spec = *Spec
	type model = *DNNLinearCombinedClassifier
	for _, c := range []struct {
		want   string
		change func(spec, model)
	}{
		{`trainer: train spec: input: label "zzz" is no feature, expected one of [company_xf `,
			func(s spec, _ model) { s.Train.Input.Label = "zzz" }},
		{`trainer: the label is "tips_xf" in training and "fare_xf" in evaluation`,
			func(s spec, _ model) { s.Eval.Input.Label = "fare_xf" }},
		{`trainer: train spec: input: no files`,
			func(s spec, _ model) { s.Train.Input.Files = nil }},
		{`trainer: eval spec: input: no files`,
			func(s spec, _ model) { s.Eval.Input.Files = nil }},
		{`trainer: train spec: input: batch size 0, expected at least 1`,
			func(s spec, _ model) { s.Train.Input.BatchSize = 0 }},
		{`trainer: train spec: neither max steps (train_args: num_steps) nor the input's epochs`,
			func(s spec, _ model) { s.Train.MaxSteps = nil }},
		{`trainer: max steps 10, evaluation steps -5: expected more than 0`,
			func(s spec, _ model) { s.Eval.Steps = new(-5) }},
		{`trainer: eval spec: no exporter: there would be no model to serve`,
			func(s spec, _ model) { s.Eval.Exporters = nil }},
		{`trainer: eval spec: an exporter is called "../x", which can't be the name of a folder`,
			func(s spec, _ model) { s.Eval.Exporters[0] = FinalExporter{Name: "../x"} }},
		{`trainer: eval spec: exporter "x": serving input: expected either a transform graph or raw`,
			func(s spec, _ model) { s.Eval.Exporters[0] = FinalExporter{Name: "x"} }},
		{`trainer: eval spec: two exporters are called "final"`,
			func(s spec, _ model) { s.Eval.Exporters = append(s.Eval.Exporters, s.Eval.Exporters[0]) }},
		{`trainer: spec: serve: which of the exporters final, latest, best gives the model`,
			func(s spec, m model) { threeExporters(s, m); s.Serve = "" }},
		{`trainer: spec: serve: no exporter is called "first", expected one of final, latest, best`,
			func(s spec, m model) { threeExporters(s, m); s.Serve = "first" }},
		{`estimator: run config: checkpoints by steps and by time cannot both be set`,
			func(_ spec, m model) { m.Config.SaveCheckpointsEvery = time.Minute }},
		{`estimator: run config: checkpoints every so many steps, or so often: expected more than 0`,
			func(_ spec, m model) { m.Config.SaveCheckpointsSteps = -1 }},
		{`estimator: run config: -1 threads: expected 1 or more`,
			func(_ spec, m model) { m.Config.Threads = -1 }},
		{`estimator: 3 classes and a label vocabulary of 2 words, expected at least 2 and as many`,
			func(_ spec, m model) { m.NClasses, m.LabelVocabulary = 3, []string{"no", "yes"} }},
		{`estimator: 1 classes and a label vocabulary of 0 words`,
			func(_ spec, m model) { m.NClasses = 1 }},
		{`estimator: feature columns: missing, expected what to learn from`,
			func(_ spec, m model) { m.DNNFeatureColumns, m.LinearFeatureColumns = nil, nil }},
		{`estimator: dnn hidden units: missing, expected the size of each hidden layer`,
			func(_ spec, m model) { m.DNNHiddenUnits = nil }},
		{`estimator: dnn dropout 1: expected a number from 0 to below 1`,
			func(_ spec, m model) { m.DNNDropout = 1 }},
		{`estimator: weight column "hours" is no feature, expected one of [company_xf `,
			func(_ spec, m model) { m.WeightColumn = "hours" }},
		{`estimator: dnn feature columns: the data has no feature "miles", expected one of [`,
			func(_ spec, m model) { m.DNNFeatureColumns[0] = Numeric{"miles"} }},
		{`estimator: dnn feature columns: two columns are called "fare_xf"`,
			func(_ spec, m model) { m.DNNFeatureColumns[0] = Numeric{"fare_xf"} }},
		{`estimator: linear feature columns: feature "fare_xf" is float, expected [int64]`,
			func(_ spec, m model) { m.LinearFeatureColumns[0] = Identity{Key: "fare_xf", NumBuckets: 2} }},
		{`estimator: linear feature columns: column "fare_xf": default 2 of 2 buckets, expected one of`,
			func(_ spec, m model) { m.LinearFeatureColumns[0] = Identity{"fare_xf", 2, 2} }},
		{`estimator: linear feature columns: feature "company_xf" is int64, expected [string]`,
			func(_ spec, m model) { m.LinearFeatureColumns = []LinearColumn{Hash{"company_xf", 5}} }},
		{`estimator: dnn feature columns: column "company_xf_embedding": dimension 0, expected at least`,
			func(_ spec, m model) {
				m.DNNFeatureColumns[0] = Embedding{Of: Identity{Key: "company_xf", NumBuckets: 2}}
			}},
	} {
		_, err := serve(t.Context(), t, assignment(t, 10), small(c.change), &stopAt{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error is %v, expected %s", err, c.want)
		}
	}
}

func TestWithoutASchemaThereIsNothingToHandATrainer(t *testing.T) {
	t.Parallel()
	a := assignment(t, 10)
	a.TransformGraphPath = ""
	_, err := serve(t.Context(), t, a, small(nil), &stopAt{})
	if err == nil || !strings.Contains(err.Error(), "needs the schema of the examples") {
		t.Errorf("error is %v", err)
	}
}

// An invalid row is the data's fault, and the error names it.
func TestBadRowsAreBadInput(t *testing.T) {
	t.Parallel()
	a := assignment(t, 10)
	several := func(s *Spec, _ *DNNLinearCombinedClassifier) {
		s.Train.Input.Label, s.Eval.Input.Label = "trip_start_hour_xf", "trip_start_hour_xf"
	}
	_, err := serve(t.Context(), t, a, small(several), &stopAt{})
	bad, ok := errors.AsType[*module.Error](err)
	if !ok || bad.Kind != module.KindInput || !strings.Contains(bad.Message, `feature "trip_start_hour_xf"`) {
		t.Errorf("error is %v", err)
	}
}

func TestWhatAnEarlierAttemptLeftMustBeReadable(t *testing.T) {
	t.Parallel()
	a := assignment(t, 10)
	if err := os.MkdirAll(filepath.Join(a.WorkingDir, "exports"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.WorkingDir, "exports", "exports.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := serve(t.Context(), t, a, small(nil), &stopAt{}); err == nil || !strings.HasPrefix(err.Error(), "exports so far: ") {
		t.Errorf("error is %v", err)
	}
}
