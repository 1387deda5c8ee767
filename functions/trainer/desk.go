package trainer

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
)

// desk is the local folder of one attempt:
//
//	in/              inputs, as staged
//	out/             what is published: model/, model_run/
//	working/         the module's own: what earlier attempts saved is in it, and it is what checkpoints are taken of
//	checkpoint-<n>/  such a copy, until it is in the store
//	log.txt          what the module printed
//	predictions.jsonl, labels.json
//	                 what the module says of evaluation rows, and which features are labels
type desk struct{ dir string }

func (t *Trainer) openDesk(attempt events.Attempt) (desk, error) {
	dir, err := os.MkdirTemp(t.opts.WorkDir, "train-"+attempt.ID+"-")
	if err != nil {
		return desk{}, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder to work in: %w", err))
	}
	d := desk{dir: dir}
	// The model's own folder is left to the module: some refuse to write into one that is there.
	for _, folder := range []string{d.in(), d.out("model"), d.out("model_run"), d.working()} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			d.clear()
			return desk{}, events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder to work in: %w", err))
		}
	}
	return d, nil
}

func (d desk) in(path ...string) string {
	return filepath.Join(append([]string{d.dir, "in"}, path...)...)
}
func (d desk) out(path ...string) string {
	return filepath.Join(append([]string{d.dir, "out"}, path...)...)
}
func (d desk) working() string { return filepath.Join(d.dir, "working") }

func (d desk) predictions() string { return filepath.Join(d.dir, "predictions.jsonl") }
func (d desk) labels() string      { return filepath.Join(d.dir, "labels.json") }

func (d desk) log() string { return filepath.Join(d.dir, "log.txt") }

// clear takes the folder away. What can't be removed is in the way of nobody: the next attempt has another folder.
func (d desk) clear() { _ = os.RemoveAll(d.dir) }
