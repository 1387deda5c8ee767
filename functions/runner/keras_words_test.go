package runner_test

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// The words by which the other Keras is asked for are those that Keras 3 and KerasTuner say today.
func TestKerasSaysWhatTheDriverListensFor(t *testing.T) {
	t.Parallel()
	driver, err := filepath.Abs(filepath.Join("python", "driver"))
	if err != nil {
		t.Fatal(err)
	}
	var needed map[string]string
	tftest.Run(t, provokesKeras, map[string]string{"driver": driver, "dir": t.TempDir()}, &needed)
	want := map[string]string{
		"save_format": "2", "a folder": "2", "load a folder": "2", "a legacy optimizer": "2", "a search with Keras 2": "3", "another error": "",
	}
	for name, keras := range want {
		if needed[name] != keras {
			t.Errorf("%s: needs %q, want %q", name, needed[name], keras)
		}
	}
}

const provokesKeras = `
import os, sys

def small(keras):
    return keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])

def search(dir):
    import keras_tuner, tf_keras
    keras_tuner.RandomSearch(lambda hp: small(tf_keras), objective="loss", max_trials=1, directory=dir).search(np.zeros((1, 1)), np.zeros(1))

def check(input):
    sys.path.insert(0, input["driver"])
    from stoker_runner import keras_choice
    import keras
    dir = input["dir"]
    tf.saved_model.save(tf.Module(), os.path.join(dir, "saved"))
    provoked = {
        "save_format": lambda: small(keras).save(os.path.join(dir, "a"), save_format="tf"),
        "a folder": lambda: small(keras).save(os.path.join(dir, "b")),
        "load a folder": lambda: keras.models.load_model(os.path.join(dir, "saved")),
        "a legacy optimizer": lambda: keras.optimizers.legacy.Adam(),
        "a search with Keras 2": lambda: search(dir),
        "another error": lambda: small(keras).compile("no optimizer"),
    }
    needed = {}
    for name, do in provoked.items():
        try:
            do()
        except Exception as error:
            needed[name] = keras_choice.needed([str(error)])
    return needed
`
