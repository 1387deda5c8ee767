package execution

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// modelRun is TFX's key of the output that a module keeps its log in, and often its checkpoints too.
const modelRun = "model_run"

// runInside is where model_run stands in a checkpoint, beside what is in working/. A checkpoint of the time before has none.
const runInside = ".stoker/model_run"

const (
	steadyTries = 6
	steadyPause = 20 * time.Millisecond // at first; also more than the time between two ticks of a file system's clock
)

// copyKept copies what belongs to a checkpoint.
func (d Desk) copyKept(to string, all bool) error {
	if !all {
		return copyTree(d.dir, d.Working(), to, copiedBytes)
	}
	return d.copyAll(to)
}

// copyAll copies working/ and model_run/ as they are together at one moment: again, when a file has changed meanwhile. Nothing
// is linked, as any file may be written to in place later on.
func (d Desk) copyAll(to string) error {
	var changed string
	for try := range steadyTries {
		before, err := d.state()
		if err != nil {
			return err
		}
		if changed = before.youngerThan(steadyPause); changed != "" {
			time.Sleep(steadyPause << try)
			continue
		}
		if err := d.copyBoth(to); err != nil {
			return err
		}
		after, err := d.state()
		if err != nil {
			return err
		}
		if changed = after.differs(before); changed == "" {
			return nil
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		time.Sleep(steadyPause << try)
	}
	return fmt.Errorf("its files change all the time, like %s", changed)
}

func (d Desk) copyBoth(to string) error {
	if err := copyTree(d.dir, d.Working(), to, math.MaxInt64); err != nil {
		return err
	}
	if _, err := os.Stat(d.Out(modelRun)); errors.Is(err, fs.ErrNotExist) {
		return nil // the job has no such output
	}
	inside := filepath.Join(to, filepath.FromSlash(runInside))
	if err := os.MkdirAll(filepath.Dir(inside), 0o755); err != nil {
		return err
	}
	return copyTree(d.dir, d.Out(modelRun), inside, math.MaxInt64)
}

// layOutRun moves what a checkpoint holds of model_run from working/ to where it belongs.
func (d Desk) layOutRun() error {
	inside := filepath.Join(d.Working(), filepath.FromSlash(runInside))
	if _, err := os.Stat(inside); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(d.Out(modelRun)); err != nil { // it is empty yet
		return err
	}
	if err := os.Rename(inside, d.Out(modelRun)); err != nil {
		return err
	}
	return os.Remove(filepath.Dir(inside))
}

// folderState tells whether files change. Files of TensorBoard are left out: they only grow, and may end anywhere.
type folderState map[string]fs.FileInfo

func (d Desk) state() (folderState, error) {
	state := folderState{}
	for _, dir := range []string{d.Working(), d.Out(modelRun)} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && !strings.Contains(entry.Name(), ".tfevents.") {
				var info fs.FileInfo
				if info, err = entry.Info(); err == nil {
					state[path] = info
				}
			}
			if errors.Is(err, fs.ErrNotExist) { // gone by now, or never there
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return state, nil
}

// youngerThan names a file that has changed so lately that another change would not show in its time; "" for none.
func (s folderState) youngerThan(age time.Duration) string {
	for path, info := range s {
		if time.Since(info.ModTime()).Abs() < age {
			return path
		}
	}
	return ""
}

// differs names a file that is not what it was; "" for none.
func (s folderState) differs(from folderState) string {
	for path, was := range from {
		now, there := s[path]
		if !there || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) || !os.SameFile(now, was) {
			return path
		}
	}
	for path := range s {
		if _, known := from[path]; !known {
			return path
		}
	}
	return ""
}
