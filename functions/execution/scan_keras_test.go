package execution

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// kerasWriter saves one checkpoint and then another one. During the second it stops three times
// until it reads a line: after the first array, after the fifth of six, and before the file is
// closed. It prints where it stops.
const kerasWriter = `
import os, sys
import h5py, keras, numpy as np, zipfile

folder, kind = sys.argv[1:]
model = keras.Sequential([keras.layers.Input((50,)), keras.layers.Dense(200), keras.layers.Dense(200), keras.layers.Dense(1)])
save = model.save if kind == "keras" else model.save_weights
suffix = ".keras" if kind == "keras" else ".weights.h5"
save(os.path.join(folder, "epoch-5" + suffix))

def stop(where):
    print(where, flush=True)
    sys.stdin.readline()

arrays = 0
create = h5py.Group.create_dataset
def counted(self, *args, **options):
    global arrays
    made = create(self, *args, **options)
    arrays += 1
    if arrays in (1, 5):
        stop(f"array {arrays}")
    return made
h5py.Group.create_dataset = counted

close = (zipfile.ZipFile if kind == "keras" else h5py.File).close
def closing(self):
    if getattr(self, "fp", True) and getattr(self, "mode", "r+") != "r":
        stop("close")
    close(self)
(zipfile.ZipFile if kind == "keras" else h5py.File).close = closing
save(os.path.join(folder, "epoch-6" + suffix))
print("saved", flush=True)
sys.stdin.readline()
`

// A file that Keras has saved is saved at once, and one that it is writing is not, wherever Keras
// is in it. Keras flushes no file before it closes it: a writer that does would make a file whose
// header says that it is whole.
func TestACheckpointOfKerasIsSavedWholeWhileAnotherIsWritten(t *testing.T) {
	t.Parallel()
	python := tftest.Python(t)
	for kind, suffix := range map[string]string{"keras": ".keras", "weights": ".weights.h5"} {
		t.Run(kind, func(t *testing.T) {
			w := newWrites(t)
			command := exec.CommandContext(t.Context(), python, "-c", kerasWriter, w.workspace.Out(modelRun), kind)
			command.Env = append(command.Environ(), "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=2")
			in, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			whole, saved, stops := "epoch-5"+suffix, "", 0
			for lines := bufio.NewScanner(out); lines.Scan(); {
				got := w.scan()
				if got != "" {
					saved = got
				}
				t.Logf("%s: saved %q", lines.Text(), got)
				if lines.Text() == "saved" {
					w.now = w.now.Add(time.Minute)
					if got = w.scan(); got != "" {
						saved = got
					}
					if want := whole + " epoch-6" + suffix; saved != want {
						t.Errorf("saved: the checkpoint has %q, want %q", saved, want)
					}
				} else if stops++; saved != whole {
					t.Errorf("%s: saved %q, want %q", lines.Text(), saved, whole)
				}
				if _, err := io.WriteString(in, "\n"); err != nil && !strings.Contains(err.Error(), "pipe") {
					t.Fatal(err)
				}
			}
			if err := command.Wait(); err != nil || stops < 2 {
				t.Errorf("stopped %d times, %v", stops, err)
			}
		})
	}
}
