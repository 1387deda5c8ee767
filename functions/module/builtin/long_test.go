//go:build long

package builtin_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
	"github.com/stoker-ml/stoker/functions/module"
)

// Models that were trained for 250,000 steps, with logits in the hundreds and thousands, give the
// same predictions from their files as in memory, except for rounding, and pass the check. Each of
// them fails it once its files are changed in one respect.
func TestModelsThatWereTrainedForLongAreNotRefused(t *testing.T) {
	beyond := 0
	for seed := range 50 {
		a := assignment(t, "penguin", true, penguin())
		steps := 250_000
		a.TrainSteps, a.Seed = &steps, int64(seed)
		a.Predictions = &module.Predictions{Path: filepath.Join(t.TempDir(), "predictions"), Rows: 100, LabelsPath: filepath.Join(t.TempDir(), "labels")}
		run(t, "dnn", a)
		check := func(model string) (skew.Report, error) {
			return skew.Check(t.Context(), skew.Question{
				Model: model, Raw: []string{abs(t, examples, "penguin", "examples", "Split-eval", "*")}, Transformed: a.EvalFiles,
				Predictions: a.Predictions.Path, Labels: []string{"species"}, Rows: skew.DefaultRows, Tolerance: skew.DefaultTolerance,
			})
		}
		r, err := check(a.ServingModelDir)
		if err != nil || r.Rows == 0 || len(r.Differences) > 0 {
			t.Errorf("seed %d: %+v, %v", seed, r, err)
		}
		if r.MaxAbs > skew.DefaultTolerance {
			beyond++
		}
		for name, inject := range injected {
			model := filepath.Join(t.TempDir(), "model")
			if err := os.CopyFS(model, os.DirFS(a.ServingModelDir)); err != nil {
				t.Fatal(err)
			}
			inject(t, model)
			if r, err := check(model); err != nil || len(r.Differences) == 0 {
				t.Errorf("seed %d, %s: not found: %+v, %v", seed, name, r, err)
			}
		}
	}
	if beyond < 25 {
		t.Errorf("%d of 50 models answer beyond the tolerance: these are none that rounding shows in", beyond)
	}
}

// injected are the ways in which the files of a model are changed.
var injected = map[string]func(t *testing.T, model string){
	"one weight changed by 1 %": func(t *testing.T, model string) {
		changeWeights(t, model, func(name string, weights []float32) {
			if name != "logits/kernel" {
				return
			}
			largest := 0
			for i, w := range weights {
				if math.Abs(float64(w)) > math.Abs(float64(weights[largest])) {
					largest = i
				}
			}
			weights[largest] *= 1.01
		})
	},
	"another transform graph": func(t *testing.T, model string) {
		changed := 0
		changeNodes(t, model, func(_ string, n *nodepb.NodeDef) {
			if v := n.GetAttr()["value"].GetTensor(); len(v.GetFloatVal()) == 1 {
				v.FloatVal[0] *= 1.01
				changed++
			}
		})
		if changed == 0 {
			t.Fatal("the graph has no constants to change")
		}
	},
	"two classes swapped": func(t *testing.T, model string) {
		changeWeights(t, model, func(name string, weights []float32) {
			for i := 0; strings.HasPrefix(name, "logits/") && i < len(weights); i += 3 {
				weights[i], weights[i+1] = weights[i+1], weights[i]
			}
		})
	},
	"two features swapped": func(t *testing.T, model string) {
		swapped := 0
		changeNodes(t, model, func(function string, n *nodepb.NodeDef) {
			keys := n.GetAttr()["value"].GetTensor().GetStringVal()
			if strings.Contains(function, "serving_default") && strings.HasSuffix(n.GetName(), "dense_keys") {
				keys[1], keys[2] = keys[2], keys[1]
				swapped++
			}
		})
		if swapped != 1 {
			t.Fatalf("%d lists of features in the signature", swapped)
		}
	},
}

// changeWeights rewrites the variables of a model. change gets the name and values of each.
func changeWeights(t *testing.T, model string, change func(name string, weights []float32)) {
	t.Helper()
	prefix := filepath.Join(model, "variables", "variables")
	b, err := tensorbundle.Open(prefix)
	if err != nil {
		t.Fatal(err)
	}
	var tensors []tensorbundle.Entry
	for _, v := range b.Variables() {
		if v.DType != "DT_FLOAT" {
			copied, err := b.Copy(v.Key, v.Key)
			if err != nil {
				t.Fatal(err)
			}
			tensors = append(tensors, copied)
			continue
		}
		weights, _, err := b.Numbers(v.Key)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(v.Key, "/.ATTRIBUTES")
		change(name, weights)
		tensors = append(tensors, tensorbundle.Entry{Key: v.Key, Value: &tensor.Array[float32]{Dims: v.Shape, Data: weights}})
	}
	if err := tensorbundle.Write(prefix, tensors); err != nil {
		t.Fatal(err)
	}
}

// changeNodes rewrites the graph of a model. change gets each node, with the name of its function.
func changeNodes(t *testing.T, model string, change func(function string, n *nodepb.NodeDef)) {
	t.Helper()
	path := filepath.Join(model, "saved_model.pb")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var saved corepb.SavedModel
	if err := proto.Unmarshal(data, &saved); err != nil {
		t.Fatal(err)
	}
	for _, n := range saved.GetMetaGraphs()[0].GetGraphDef().GetNode() {
		change("", n)
	}
	for _, f := range saved.GetMetaGraphs()[0].GetGraphDef().GetLibrary().GetFunction() {
		for _, n := range f.GetNodeDef() {
			change(f.GetSignature().GetName(), n)
		}
	}
	if data, err = proto.Marshal(&saved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
