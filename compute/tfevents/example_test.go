package tfevents_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tfevents"
)

// A module logs below the directory that it is given as ModelRunDir, and TensorBoard displays it:
// tensorboard --logdir <directory>.
func Example() {
	modelRunDir, err := os.MkdirTemp("", "model_run-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(modelRunDir)
	w, err := tfevents.Open(filepath.Join(modelRunDir, "train"), tfevents.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := int64(1); step <= 3; step++ {
		if err := w.Scalar(step, "epoch_loss", 1/float64(step)); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}

	log, err := tfevents.Load(modelRunDir)
	if err != nil {
		fmt.Println(err)
		return
	}
	loss := log.Run("train").Tag("epoch_loss")
	fmt.Println(loss.Count, "points, the last:", loss.Last().Step, loss.Last().Scalar)
	// Output: 3 points, the last: 3 0.3333333432674408
}
