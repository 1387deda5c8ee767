package execution

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
)

// Workspace is the local directory of one attempt:
//
//	in/              the staged inputs
//	out/<key>/       the outputs to publish: model/, model_run/
//	working/         the module's own: begins with the files of the newest checkpoint, and
//	                 checkpoints are copied from it; so is out/model_run/ of a TFX module
//	answers/         files of the module that are not published: predictions.jsonl, labels.json
//	trials/<id>/     the module's own directories for one trial of a search
//	checkpoints-<x>/ copies of the module's directories, until they are in the store
//	kept/            states of trials from which other trials continue
//	log.txt          the module's output
//
// The module may write below out/<key>, working, answers and trials. Only the worker may write to
// the directory itself and to the rest: otherwise a module could put links there, which the worker
// would follow.
type Workspace struct{ dir string }

func (x *Executor) openWorkspace(task worker.Task, outputs map[string]string) (Workspace, error) {
	dir, err := os.MkdirTemp(x.opts.WorkDir, fmt.Sprintf("%s-%s-", task.Job.Function, task.Attempt.ID))
	if err != nil {
		return Workspace{}, events.Fail(events.FailureUnavailable, fmt.Errorf("create a working directory: %w", err))
	}
	w := Workspace{dir: dir}
	folders := []string{w.In(), w.Working(), w.Answer("")}
	// The module makes the directories of its outputs: some modules refuse to write to one that
	// exists.
	for key := range outputs {
		folders = append(folders, w.Out(key))
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			w.remove()
			return Workspace{}, events.Fail(events.FailureUnavailable, fmt.Errorf("create a working directory: %w", err))
		}
	}
	return w, nil
}

// In returns a path among the staged inputs.
func (w Workspace) In(path ...string) string {
	return filepath.Join(append([]string{w.dir, "in"}, path...)...)
}

// Out returns a path among the outputs.
func (w Workspace) Out(path ...string) string {
	return filepath.Join(append([]string{w.dir, "out"}, path...)...)
}

// Working returns the module's own directory.
func (w Workspace) Working() string { return filepath.Join(w.dir, "working") }

// Answer returns the path of a file that the module writes and that is not published.
func (w Workspace) Answer(name string) string { return filepath.Join(w.dir, "answers", name) }

// Path returns a path that is not published.
func (w Workspace) Path(name string) string { return filepath.Join(w.dir, name) }

func (w Workspace) log() string { return filepath.Join(w.dir, "log.txt") }

// remove removes the directory. Files that can't be removed do no harm: the next attempt has
// another directory.
func (w Workspace) remove() { _ = os.RemoveAll(w.dir) }
