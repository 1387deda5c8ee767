package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/functions/guest/snapshot"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// warnOfNoTuner tells who deploys a TFX module whose files don't say tuner_fn, where each run is to be tuned. It is no refusal: an
// import with a star may bring one.
func (a *app) warnOfNoTuner(ctx context.Context, spec pipeline.Pipeline) error {
	source := spec.Module.Source()
	if !spec.Tunes() || source.TunerFn != "" || !isPath(source.Path) || !snapshot.IsPython(source.Path) {
		return nil
	}
	files, err := takeModule(ctx, source.Path)
	if err != nil {
		return err
	}
	for _, name := range files.Called("tuner_fn") {
		text, err := os.ReadFile(filepath.Join(files.Dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("tuner_fn")) {
			return nil
		}
	}
	fmt.Fprintf(a.notes(), "%s: nothing in it is called tuner_fn, and tuner.when is %s: name the function, as in module.tuner_fn: my_module.search\n",
		source.Path, spec.Tuner.When)
	return nil
}
