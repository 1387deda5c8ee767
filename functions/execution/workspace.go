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
//	in/              inputs, as staged
//	out/<key>/       what is published: model/, model_run/
//	working/         the module's own: holds what earlier attempts saved, and checkpoints are
//	                 copied from it; of a TFX module, out/model_run/ is such a folder too
//	answers/         files of the module's that are not published: predictions.jsonl, labels.json
//	trials/<id>/     the module's own folders for one trial of a search
//	checkpoints-<x>/ copies of the module's folders, until they are in the store
//	kept/            states of trials that others go on from
//	log.txt          what the module printed
//
// The module may write below out/<key>, working, answers and trials. The directory itself and the
// rest are the worker's alone: a module that could write there would replace them by links, and the
// worker would follow those.
type Workspace struct{ dir string }

func (x *Executor) openWorkspace(task worker.Task, outputs map[string]string) (Workspace, error) {
	dir, err := os.MkdirTemp(x.opts.WorkDir, fmt.Sprintf("%s-%s-", task.Job.Function, task.Attempt.ID))
	if err != nil {
		return Workspace{}, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder to work in: %w", err))
	}
	w := Workspace{dir: dir}
	folders := []string{w.In(), w.Working(), w.Answer("")}
	for key := range outputs { // the module makes what lies in them: some refuse to write into a folder that exists
		folders = append(folders, w.Out(key))
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			w.remove()
			return Workspace{}, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder to work in: %w", err))
		}
	}
	return w, nil
}

// In is a path among the staged inputs.
func (w Workspace) In(path ...string) string {
	return filepath.Join(append([]string{w.dir, "in"}, path...)...)
}

// Out is a path among what is published.
func (w Workspace) Out(path ...string) string {
	return filepath.Join(append([]string{w.dir, "out"}, path...)...)
}

// Working is the module's own folder.
func (w Workspace) Working() string { return filepath.Join(w.dir, "working") }

// Answer is a file that the module writes and that is not published.
func (w Workspace) Answer(name string) string { return filepath.Join(w.dir, "answers", name) }

// Path is a path that is not published.
func (w Workspace) Path(name string) string { return filepath.Join(w.dir, name) }

func (w Workspace) log() string { return filepath.Join(w.dir, "log.txt") }

// remove removes the directory. What can't be removed disturbs nobody: the next attempt has another
// directory.
func (w Workspace) remove() { _ = os.RemoveAll(w.dir) }
