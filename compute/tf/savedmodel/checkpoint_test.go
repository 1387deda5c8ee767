package savedmodel

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// restoreScript takes the variables over by their place among objects, as TensorFlow programs do,
// and trains on.
const restoreScript = `
def check(path):
    place = tf.train.Checkpoint(kernel=tf.Variable(tf.zeros([4, 8])))
    root = tf.train.Checkpoint(dense=place)
    root.read(path + "/variables/variables").assert_existing_objects_matched()
    reader = tf.train.load_checkpoint(path + "/variables/variables")

    model = tf.saved_model.load(path)
    predict = model.signatures["predict_tensors"]
    before = reader.get_tensor("dense/kernel/.ATTRIBUTES/VARIABLE_VALUE")
    inputs = {f"{n}_xf": tf.random.normal([32, 1], seed=i)
              for i, n in enumerate(["culmen_length_mm", "culmen_depth_mm", "flipper_length_mm", "body_mass_g"])}
    losses = []
    for _ in range(20):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits([1] * 32, predict(**inputs)["outputs"]))
        for v, g in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            v.assign_sub(0.1 * g)
        losses.append(float(loss))
    return {"equal": bool(np.array_equal(place.kernel, before)), "first": losses[0], "last": losses[-1]}
`

func TestTensorFlowTrainsTheVariablesOn(t *testing.T) {
	t.Parallel()
	var got struct {
		Equal       bool
		First, Last float64
	}
	tftest.Run(t, restoreScript, writeTemp(t, penguin(t)), &got)
	if !got.Equal {
		t.Error("tf.train.Checkpoint restored another kernel than the checkpoint holds")
	}
	if got.Last >= got.First/2 {
		t.Errorf("20 steps of gradient descent took the loss from %v to %v, want less than half", got.First, got.Last)
	}
}
