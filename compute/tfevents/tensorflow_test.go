package tfevents_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tfevents"
)

// The event files that TFX's Trainer wrote, read here and by TensorFlow: values equal to the bit,
// because both widen the same float32; times within a microsecond, because they are in nanoseconds
// here.
func TestTheCorpusIsReadAsTensorFlowReadsIt(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs("testdata/penguin/model_run")
	ok(t, err)
	type point struct {
		Run, Tag string
		Step     int64
		Time     float64
		Value    tftest.Number
	}
	var want []point
	tftest.Run(t, `
import glob
def check(dir):
    points = []
    for file in sorted(glob.glob(dir + "/*/*")):
        for event in tf.compat.v1.train.summary_iterator(file):
            for v in event.summary.value:
                if v.metadata.plugin_data.plugin_name == "scalars":
                    points.append({"run": file.split("/")[-2], "tag": v.tag, "step": event.step, "time": event.wall_time,
                                   "value": float(tf.make_ndarray(v.tensor))})
    return points`, dir, &want)
	if len(want) != 7 {
		t.Fatalf("TensorFlow reads %d scalars, the corpus has 7", len(want))
	}
	l := load(t, dir)
	for _, w := range want {
		s := l.Run(w.Run).Tag(w.Tag)
		if s == nil || s.Count != 1 {
			t.Errorf("%s of run %s: %+v, expected one point", w.Tag, w.Run, s)
			continue
		}
		got := s.Last()
		if got.Step != w.Step || got.Scalar != float64(w.Value) || math.Abs(seconds(got)-w.Time) > 1e-6 {
			t.Errorf("%s of run %s: step %d, %v, at %f; TensorFlow reads %d, %v, %f", w.Tag, w.Run, got.Step, got.Scalar, seconds(got),
				w.Step, w.Value, w.Time)
		}
	}
}

func seconds(p tfevents.Point) float64 { return float64(p.Time.UnixNano()) / 1e9 }

// Event files of tf.summary of TensorFlow 2 and of TensorFlow 1, and its histograms of the same
// numbers. Counts are equal; edges within 1e-12 of the range, because tf.linspace sums the parts in
// another order.
func TestTensorFlowsOwnSummariesAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values := []float32{-2, -1.5, -1.5, 0, 0.25, 3, 3}
	tftest.Run(t, `
def check(input):
    with tf.summary.create_file_writer(input["dir"] + "/new").as_default():
        tf.summary.scalar("loss", 0.1, step=7)
        tf.summary.histogram("spread", tf.constant(input["values"]), step=7)
        tf.summary.histogram("same", tf.fill([4], 0.5), step=7)
        tf.summary.histogram("none", tf.zeros([0]), step=7)
        tf.summary.text("note", ["a", "b"], step=7)
        tf.summary.image("picture", tf.zeros([1, 2, 2, 3]), step=7)
    with tf.Graph().as_default(), tf.compat.v1.summary.FileWriter(input["dir"] + "/old") as w:
        w.add_summary(tf.compat.v1.Summary(value=[tf.compat.v1.Summary.Value(tag="loss", simple_value=0.1)]), 7)
        s = tf.compat.v1.summary.histogram("spread", tf.constant(input["values"]))
        w.add_summary(tf.compat.v1.Session().run(s), 7)
    return True`, map[string]any{"dir": dir, "values": values}, new(bool))
	l := load(t, dir)
	for _, name := range []string{"new", "old"} {
		loss := l.Run(name).Tag("loss").Last()
		if loss.Step != 7 || loss.Scalar != float64(float32(0.1)) {
			t.Errorf("%s: loss %+v", name, loss)
		}
	}
	run := l.Run("new")
	near(t, "spread", tfevents.Buckets(values, 30), run.Tag("spread").Last().Buckets)
	near(t, "same", tfevents.Buckets([]float32{0.5, 0.5, 0.5, 0.5}, 30), run.Tag("same").Last().Buckets)
	near(t, "none", tfevents.Buckets(nil, 30), run.Tag("none").Last().Buckets)
	if diff := cmp.Diff([]string{"a", "b"}, run.Tag("note").Last().Text); diff != "" {
		t.Error(diff)
	}
	if picture := run.Tag("picture"); picture.Kind != tfevents.KindOther || picture.Plugin != "images" {
		t.Errorf("picture: kind %s, plugin %q", picture.Kind, picture.Plugin)
	}
	count := 0.0
	for _, b := range l.Run("old").Tag("spread").Last().Buckets {
		count += b.Count
	}
	if count != float64(len(values)) {
		t.Errorf("an old histogram counts %v values, expected %d", count, len(values))
	}
}

func near(t *testing.T, tag string, want, got []tfevents.Bucket) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d buckets, TensorFlow has %d", tag, len(want), len(got))
	}
	tolerance := 1e-12 * (want[len(want)-1].Right - want[0].Left)
	for i, w := range want {
		if g := got[i]; math.Abs(w.Left-g.Left) > tolerance || math.Abs(w.Right-g.Right) > tolerance || w.Count != g.Count {
			t.Errorf("%s: bucket %d is %v, TensorFlow's %v", tag, i, w, g)
		}
	}
}
