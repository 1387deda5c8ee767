package result_test

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/storage"
)

// What a training has found is read from the manifest next to its model.
func ExampleOf() {
	trained, err := json.Marshal(result.Result{
		Job: "5f3a", Attempts: 2,
		Training: result.Training{Metrics: map[string]float64{"accuracy": 0.93}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// As storage.ReadManifest returns it.
	manifest := storage.Manifest{Attempt: "attempt-2", Result: trained}

	r, err := result.Of(manifest)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("job", r.Job, "accuracy", r.Metrics["accuracy"], "after", r.Attempts, "attempts")
	// Output: job 5f3a accuracy 0.93 after 2 attempts
}
