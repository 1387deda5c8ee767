package main

import (
	"fmt"

	"github.com/stoker-ml/stoker/functions/guest/snapshot"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// checkTuner says at once that a Go module has no search. What lies at an address is seen by the worker that opens it.
func checkTuner(spec pipeline.Pipeline) error {
	path := spec.Module.Path
	if !spec.Tunes() || !isPath(path) || snapshot.IsPython(path) {
		return nil
	}
	return fmt.Errorf("tuner.when: %s can't tune: tuner_fn is a TFX module's", path)
}
