package estimator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/functions/module"
)

// assignment returns a training on the taxi data, in new folders.
func assignment(t *testing.T, steps int) module.Assignment {
	t.Helper()
	graph, err := filepath.Abs(filepath.Join(taxiData, "transform_graph"))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	return module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: "taxi"}, Call: module.CallTrain, WorkingDir: filepath.Join(out, "working"),
		TrainFiles: taxiInput(t, "train").Files, EvalFiles: taxiInput(t, "eval").Files, TrainSteps: &steps, EvalSteps: new(2),
		TransformGraphPath: graph, Transformed: true,
		ServingModelDir: filepath.Join(out, "model", "Format-Serving"), EvalModelDir: filepath.Join(out, "model", "Format-TFMA"),
		ModelRunDir: filepath.Join(out, "model_run"),
	}
}

// small returns a trainer of a small taxi model that evaluates every tenth step.
func small(change func(*Spec, *DNNLinearCombinedClassifier)) Trainer {
	return func(args *module.Args, _ *example.Schema) (Spec, error) {
		features, err := TransformedFeatures(args)
		if err != nil {
			return Spec{}, err
		}
		e := taxi()
		e.DNNHiddenUnits = []int{4}
		e.Config = RunConfig{SaveCheckpointsSteps: 10}
		s := Spec{
			Train: TrainSpec{
				Input: Input{Files: args.TrainFiles, Features: features, Label: "tips_xf", BatchSize: 40}, MaxSteps: args.TrainSteps,
			},
			Eval: EvalSpec{
				Input: Input{Files: args.EvalFiles, Features: features, Label: "tips_xf", BatchSize: 40}, Steps: args.EvalSteps,
				Throttle:  NoThrottle,
				Exporters: []Exporter{FinalExporter{Name: "final", ServingInput: transformed(args)}},
			},
		}
		if change != nil {
			change(&s, &e)
		}
		s.Estimator = e
		return s, nil
	}
}

func transformed(args *module.Args) ServingInput {
	return ServingInput{TransformGraph: args.TransformGraphPath, Labels: []string{"tips"}}
}

// stopAt ends a training when a message reports the step.
type stopAt struct {
	bytes.Buffer
	kind module.MessageType
	step int
	stop func()
}

func (s *stopAt) Write(line []byte) (int, error) {
	var m module.Message
	if json.Unmarshal(line, &m) == nil && m.Type == s.kind && m.Step >= s.step && s.stop != nil {
		s.stop()
	}
	return s.Buffer.Write(line)
}

// serve runs an assignment in this process and returns the final metrics. The clock is at
// 1700000000.
func serve(ctx context.Context, t *testing.T, a module.Assignment, trainer Trainer, out *stopAt) (map[string]float64, error) {
	t.Helper()
	line, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Unix(1_700_000_000, 0) }
	m := module.Module{Train: func(ctx context.Context, args *module.Args) error { return Run(ctx, args, trainer, now) }}
	err = module.Serve(ctx, bytes.NewReader(append(line, '\n')), out, m)
	var last module.Message
	for decoder := json.NewDecoder(&out.Buffer); decoder.More(); {
		last = module.Message{}
		if err := decoder.Decode(&last); err != nil {
			t.Fatal(err)
		}
	}
	return last.Metrics, err
}

// files returns the digests of all files below a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path) // it is below
		found[name] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// exportsIn returns the exports below a model_run folder.
func exportsIn(t *testing.T, modelRun string) string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(modelRun, "Format-Serving", "export", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range folders {
		if err := savedmodel.Check(folders[i]); err != nil {
			t.Error(err)
		}
		folders[i] = filepath.Join(filepath.Base(filepath.Dir(folders[i])), filepath.Base(folders[i]))
	}
	return strings.Join(folders, " ")
}
