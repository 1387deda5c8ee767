package execution

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
)

// Desk is the local folder of one attempt:
//
//	in/              inputs, as staged
//	out/<key>/       what is published: model/, model_run/
//	working/         the module's own: what earlier attempts saved is in it, and it is what checkpoints are taken of; of a TFX
//	                 module, out/model_run/ is such a folder too
//	answers/         files of the module's that are not published: predictions.jsonl, labels.json
//	trials/<id>/     the module's own folders for one trial of a search
//	checkpoints-<x>/ copies of the module's folders, until they are in the store
//	kept/            states of trials that others go on from
//	log.txt          what the module printed
//
// The module may write below out/<key>, working, answers and trials. The folder itself and the rest are the worker's alone: a module that
// could write there would replace them by links, and the worker would follow those.
type Desk struct{ dir string }

func (w *Workshop) openDesk(task worker.Task, outputs map[string]string) (Desk, error) {
	dir, err := os.MkdirTemp(w.opts.WorkDir, fmt.Sprintf("%s-%s-", task.Job.Function, task.Attempt.ID))
	if err != nil {
		return Desk{}, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder to work in: %w", err))
	}
	d := Desk{dir: dir}
	folders := []string{d.In(), d.Working(), d.Answer("")}
	for key := range outputs { // what lies in them is the module's to make: some refuse to write into a folder that is there
		folders = append(folders, d.Out(key))
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			d.clear()
			return Desk{}, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder to work in: %w", err))
		}
	}
	return d, nil
}

// In is a path among the staged inputs.
func (d Desk) In(path ...string) string {
	return filepath.Join(append([]string{d.dir, "in"}, path...)...)
}

// Out is a path among what is published.
func (d Desk) Out(path ...string) string {
	return filepath.Join(append([]string{d.dir, "out"}, path...)...)
}

// Working is the module's own folder.
func (d Desk) Working() string { return filepath.Join(d.dir, "working") }

// Answer is a file that the module writes and that is not published.
func (d Desk) Answer(name string) string { return filepath.Join(d.dir, "answers", name) }

// Beside is a path that is not published.
func (d Desk) Beside(name string) string { return filepath.Join(d.dir, name) }

func (d Desk) log() string { return filepath.Join(d.dir, "log.txt") }

// clear takes the folder away. What can't be removed is in the way of nobody: the next attempt has another folder.
func (d Desk) clear() { _ = os.RemoveAll(d.dir) }
