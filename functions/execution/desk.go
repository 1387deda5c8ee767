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
//	checkpoint-<n>/  such a copy, until it is in the store
//	log.txt          what the module printed
//	predictions.jsonl, labels.json
//	                 what a Kind asks for besides, which is not published
type Desk struct{ dir string }

func (w *Workshop) openDesk(task worker.Task, outputs map[string]string) (Desk, error) {
	dir, err := os.MkdirTemp(w.opts.WorkDir, fmt.Sprintf("%s-%s-", task.Job.Function, task.Attempt.ID))
	if err != nil {
		return Desk{}, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder to work in: %w", err))
	}
	d := Desk{dir: dir}
	folders := []string{d.In(), d.Working()}
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

// Beside is a file that is not published.
func (d Desk) Beside(name string) string { return filepath.Join(d.dir, name) }

func (d Desk) log() string { return filepath.Join(d.dir, "log.txt") }

// clear takes the folder away. What can't be removed is in the way of nobody: the next attempt has another folder.
func (d Desk) clear() { _ = os.RemoveAll(d.dir) }
