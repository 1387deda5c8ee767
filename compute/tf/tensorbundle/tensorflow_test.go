package tensorbundle

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// dtypesScript saves a variable of each type in two shards, as a program on several machines does,
// and prints what it saved as numbers.
const dtypesScript = `
import os
def check(folder):
    values = {
        "f32": tf.constant([[1.5, -2.25], [3e38, 1e-45]]),
        "f64": tf.constant([0.5, -3.0], tf.float64), "rounded": tf.constant([0.1, 1e300], tf.float64),
        "half": tf.constant([1.5, -6e-8, 65504.0, 0.000123, float("inf")], tf.half),
        "bfloat16": tf.constant([1.5, -3e38, 1e-40], tf.bfloat16),
        "int8": tf.constant([-128, 127], tf.int8), "uint8": tf.constant([0, 255], tf.uint8),
        "int16": tf.constant([-32768, 32767], tf.int16), "uint16": tf.constant([65535], tf.uint16),
        "int32": tf.constant([[-5], [1 << 24]], tf.int32), "uint32": tf.constant([7], tf.uint32),
        "int64": tf.constant([-7], tf.int64), "large": tf.constant([(1 << 24) + 1], tf.int64),
        "bool": tf.constant([True, False]), "none": tf.zeros([0, 3]), "scalar": tf.constant(2.5),
    }
    names, parts = sorted(values), []
    for i in range(2):
        mine = names[i::2]
        parts.append(os.path.join(folder, "part-%d" % i))
        tf.raw_ops.SaveV2(prefix=parts[-1], tensor_names=mine, shape_and_slices=[""] * len(mine), tensors=[values[n] for n in mine])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=os.path.join(folder, "all"))
    return {n: tf.reshape(tf.cast(v, tf.float32), [-1]) for n, v in values.items()}
`

func TestEveryTypeOfNumbersIsReadAsTensorFlowCastsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want map[string][]tftest.Number
	tftest.Run(t, dtypesScript, dir, &want)
	b, err := Open(filepath.Join(dir, "all"))
	if err != nil {
		t.Fatal(err)
	}
	if list := b.Variables(); len(list) != len(want) {
		t.Errorf("%d variables, TensorFlow wrote %d", len(list), len(want))
	}
	for name, w := range want {
		got, exact, err := b.Numbers(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if rounds := name == "rounded" || name == "large"; exact == rounds {
			t.Errorf("%s: exact is %v", name, exact)
		}
		if !slices.EqualFunc(got, w, func(a float32, b tftest.Number) bool { return a == float32(b) }) {
			t.Errorf("%s: %v, want %v", name, got, w)
		}
	}
}

// partitionsScript saves variables in slices along several axes, and prints the whole variables.
const partitionsScript = `
def check(prefix):
    v1, whole = tf.compat.v1, {}
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        for name, shape, parts in (("kernel", [7, 4], 3), ("wide", [2, 300], 1), ("bias", [200], 7), ("lone", [3], 1)):
            axes = [1] * len(shape)
            axes[-1 if name == "wide" else 0] = 4 if name == "wide" else parts
            with v1.variable_scope("dnn", partitioner=lambda shape, dtype, axes=axes: axes):
                whole[name] = v1.get_variable(name, shape, initializer=v1.random_normal_initializer())
        session.run(v1.global_variables_initializer())
        v1.train.Saver(sharded=True).save(session, prefix)
        return {n: tf.reshape(tf.convert_to_tensor(v), [-1]).eval() for n, v in whole.items()}
`

func TestPartitionedVariablesAreReadWhole(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "model.ckpt")
	var want map[string][]float32
	tftest.Run(t, partitionsScript, prefix, &want)
	b, err := Open(prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range b.Variables() {
		name := filepath.Base(v.Key)
		got, _, err := b.Numbers(v.Key)
		if err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, want[name]) {
			t.Errorf("%s of shape %v: %v, want %v", v.Key, v.Shape, got, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// OrderedCode of numbers that no test above has, by its rule: TensorFlow needs them for variables
// too large for a test.
func TestNumbersInKeysAreOrderedCode(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "\x80", 63: "\xbf", 64: "\xc0\x40", -1: "\x7f", -64: "\x40", -65: "\x3f\xbf", 8191: "\xdf\xff", 8192: "\xe0\x20\x00",
		math.MaxInt64: "\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff", math.MinInt64: "\x00\x3f\x80\x00\x00\x00\x00\x00\x00\x00",
	} {
		if got := string(appendSigned(nil, n)); got != want {
			t.Errorf("%d is %x, want %x", n, got, want)
		}
	}
	if got := string(appendCount(nil, 258)); got != "\x02\x01\x02" {
		t.Errorf("258 is %x", got)
	}
}
