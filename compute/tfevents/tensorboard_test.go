package tfevents_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tfevents"
)

// wholeLog returns a log directory of a training that was interrupted after step 3 of 5:
// hyperparameters and text in the directory itself, curves in train and validation.
func wholeLog(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model_run")
	root := open(t, dir, 0)
	values := map[string]any{"rate": 0.5, "units": 8, "optimizer": "adam", "shuffle": true}
	ok(t,
		root.Experiment(tfevents.Experiment{
			HParams: []tfevents.HParam{
				{Name: "rate", Range: &tfevents.Range{Min: 0.1, Max: 1}}, {Name: "units"},
				{Name: "optimizer", Values: []any{"adam", "sgd"}}, {Name: "shuffle", Values: []any{true, false}},
			},
			Metrics: []tfevents.Metric{{Run: "validation", Tag: "epoch_loss", Name: "loss"}, {Tag: "final_loss"}},
		}),
		root.StartSession(tfevents.Session{Group: "trial 1", Values: values}), root.Text(0, "config", "# rate\n0.5"), root.Close())
	train := open(t, filepath.Join(dir, "train"), 0)
	for step := int64(1); step <= 5; step++ {
		ok(t, train.Scalar(step, "batch_loss", 1/float64(step)), train.Histogram(step, "dense/kernel/histogram", spread(step)))
	}
	ok(t, train.Close())
	train = open(t, filepath.Join(dir, "train"), 4)
	for step := int64(4); step <= 5; step++ {
		ok(t, train.Scalar(step, "batch_loss", float64(step)), train.Histogram(step, "dense/kernel/histogram", spread(step)))
	}
	ok(t, train.Close())
	validation := open(t, filepath.Join(dir, "validation"), 0)
	ok(t, validation.Scalar(0, "epoch_loss", 0.125), validation.Close())
	root = open(t, dir, 4)
	ok(t, root.Scalar(5, "final_loss", 0.25), root.EndSession(tfevents.StatusSuccess), root.Close())
	return dir
}

func spread(step int64) []float32 {
	var x []float32
	for i := range 100 {
		x = append(x, float32(math.Sin(float64(i)*float64(step))))
	}
	return x
}

// losses are the five of wholeLog, each step once.
var losses = [][2]float64{{1, 1}, {2, 0.5}, {3, float64(float32(1) / 3)}, {4, 4}, {5, 5}}

// TensorBoard's own reader of event files, its HParams parser and TensorFlow's iterator agree with
// what was written. The numbers are float32 on both sides: equal to the bit.
func TestTensorBoardReadsEveryKind(t *testing.T) {
	t.Parallel()
	var got struct {
		Losses     [][2]float64
		Histogram  [][]float64
		Text       string
		HParams    map[string]any
		Group      string
		Status     int
		Columns    []string
		Metrics    []string
		Validation [][2]float64
		Versions   []string
		Classes    map[string]int
	}
	tftest.Run(t, `
import glob
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata
def points(a, tag):
    return [[e.step, float(tf.make_ndarray(e.tensor_proto))] for e in a.Tensors(tag)]
def check(dir):
    runs = {}
    for name in ("", "train", "validation"):
        runs[name] = EventAccumulator(dir + "/" + name, size_guidance={"tensors": 0})
        runs[name].Reload()
    train, root = runs["train"], runs[""]
    plugin = root.PluginTagToContent("hparams")
    start = metadata.parse_session_start_info_plugin_data(plugin[metadata.SESSION_START_INFO_TAG])
    end = metadata.parse_session_end_info_plugin_data(plugin[metadata.SESSION_END_INFO_TAG])
    experiment = metadata.parse_experiment_plugin_data(plugin[metadata.EXPERIMENT_TAG])
    assert set(root.PluginTagToContent("text")) == {"config"}
    assert set(train.PluginTagToContent("histograms")) == {"dense/kernel/histogram"}
    assert set(train.PluginTagToContent("scalars")) == {"batch_loss"}
    return {
        "losses": points(train, "batch_loss"), "validation": points(runs["validation"], "epoch_loss"),
        "histogram": tf.make_ndarray(train.Tensors("dense/kernel/histogram")[0].tensor_proto),
        "text": tf.make_ndarray(root.Tensors("config")[0].tensor_proto).item().decode(),
        "hparams": {k: getattr(v, v.WhichOneof("kind")) for k, v in start.hparams.items()},
        "group": start.group_name, "status": end.status,
        "columns": [f"{h.name} {h.type} {h.WhichOneof('domain')}" for h in experiment.hparam_infos],
        "metrics": [f"{m.name.group}/{m.name.tag} {m.display_name}" for m in experiment.metric_infos],
        "classes": {v.tag: v.metadata.data_class for f in glob.glob(dir + "/**/*v2", recursive=True)
                    for e in tf.compat.v1.train.summary_iterator(f) for v in e.summary.value},
        "versions": [next(iter(tf.compat.v1.train.summary_iterator(f))).file_version for f in sorted(glob.glob(dir + "/train/*"))],
    }`, wholeLog(t), &got)
	if diff := cmp.Diff(losses, got.Losses); diff != "" {
		t.Errorf("steps and losses: written - read +\n%s", diff)
	}
	for i, b := range tfevents.Buckets(spread(1), 30) {
		if diff := cmp.Diff([]float64{b.Left, b.Right, b.Count}, got.Histogram[i]); diff != "" {
			t.Errorf("bucket %d: %s", i, diff)
		}
	}
	want := map[string]any{"rate": 0.5, "units": 8.0, "optimizer": "adam", "shuffle": true}
	if diff := cmp.Diff(want, got.HParams); diff != "" || got.Group != "trial 1" || got.Status != 1 {
		t.Errorf("session of group %q, status %d: %s", got.Group, got.Status, diff)
	}
	columns := []string{"rate 3 domain_interval", "units 0 None", "optimizer 1 domain_discrete", "shuffle 2 domain_discrete"}
	if diff := cmp.Diff(columns, got.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"validation/epoch_loss loss", "/final_loss "}, got.Metrics); diff != "" {
		t.Error(diff)
	}
	if got.Text != "# rate\n0.5" || !cmp.Equal(got.Validation, [][2]float64{{0, 0.125}}) {
		t.Errorf("text %q, validation %v", got.Text, got.Validation)
	}
	if diff := cmp.Diff([]string{"brain.Event:2", "brain.Event:2"}, got.Versions); diff != "" {
		t.Error(diff)
	}
	// SCALAR, TENSOR.
	for tag, class := range map[string]int{"batch_loss": 1, "dense/kernel/histogram": 2, "config": 2} {
		if got.Classes[tag] != class {
			t.Errorf("%s is of data class %d, expected %d", tag, got.Classes[tag], class)
		}
	}
}

// A log that was interrupted repeatedly, whose files were merged, read by TensorBoard's reader in
// Python and by its server with the one in Rust: the same points as with Load, which are those of
// an uninterrupted training (training_test.go). The numbers are float32 on all sides: equal to the
// bit.
func TestTensorBoardReadsAResumedTraining(t *testing.T) {
	t.Parallel()
	keep, dir := t.TempDir(), ""
	for attempt := range 40 {
		dir = t.TempDir()
		l := training(dir, keep, 1+attempt)
		take(t, l, int64(attempt+1), int64(attempt+1))
		ok(t, l.Checkpoint(int64(attempt+1)))
		if attempt == 39 {
			end(t, l, 40)
		}
		ok(t, l.Close())
	}
	var want []curve
	for _, c := range curves(t, dir) {
		if load(t, dir).Run(c.Run).Tag(c.Tag).Kind == tfevents.KindScalar {
			want = append(want, c)
		}
	}
	if len(want) != 7 {
		t.Fatalf("%d curves, expected 7", len(want))
	}
	var python, rust []curve
	tftest.Run(t, `
import os
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
def check(dir):
    curves = []
    for run in (".", "train", "validation"):
        a = EventAccumulator(os.path.join(dir, run), size_guidance={"tensors": 0})
        a.Reload()
        for tag in sorted(a.PluginTagToContent("scalars")):
            events = a.Tensors(tag)
            curves.append({"run": run, "tag": tag, "steps": [e.step for e in events],
                           "values": [float(tf.make_ndarray(e.tensor_proto)) for e in events]})
    return curves`, dir, &python)
	if diff := cmp.Diff(want, python); diff != "" {
		t.Errorf("here - TensorBoard +\n%s", diff)
	}
	tftest.Run(t, `
import json, time, urllib.parse, urllib.request
from tensorboard import program
def check(dir):
    board = program.TensorBoard()
    board.configure(argv=["tensorboard", "--logdir", dir, "--port", "0", "--host", "localhost", "--load_fast", "true"])
    url = board.launch() + "data/plugin/scalars/"
    def get(path, **query):
        with urllib.request.urlopen(url + path + "?" + urllib.parse.urlencode(query), timeout=20) as r:
            return json.load(r)
    for _ in range(200):
        runs = get("tags")
        if {".", "train", "validation"} <= set(runs):
            break
        time.sleep(0.1)
    curves = []
    for run in sorted(runs):
        for tag in sorted(runs[run]):
            points = get("scalars", run=run, tag=tag)
            curves.append({"run": run, "tag": tag, "steps": [p[1] for p in points], "values": [p[2] for p in points]})
    return curves`, dir, &rust)
	if diff := cmp.Diff(want, rust); diff != "" {
		t.Errorf("here - TensorBoard's server +\n%s", diff)
	}
}
