package python

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Made describes an environment that Stoker made. Its file is in the environment's directory, and
// is written last: a directory without it is incomplete.
type Made struct {
	Dir         string `json:"dir"`
	Interpreter string `json:"interpreter"`
	// "" for one with a pipeline's requirements
	Kind Kind `json:"kind,omitempty"`
	// For one with requirements: the interpreter whose packages it also has.
	Base         string   `json:"base,omitempty"`
	Requirements []string `json:"requirements,omitempty"` // for one with requirements
	Python       string   `json:"python"`                 // 3.11.7
	// SHA-256 of the packages that it was made from.
	Lock    string    `json:"lock,omitempty"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"` // time of the last use, to the hour
}

// description is the name of the file. Its modification time is that of the last use.
const description = "stoker.json"

// usePeriod is the precision of the time of the last use.
const usePeriod = time.Hour

// Current reports whether the environment has the packages that this version of Stoker would
// install.
func (m Made) Current() bool {
	lock, err := m.Kind.lock()
	return err == nil && m.Lock == digestOf(lock)
}

// All returns the environments in a directory, the newest first: those of Make in its home, those
// with requirements in InCache.
func All(home string) ([]Made, error) {
	paths, err := filepath.Glob(filepath.Join(home, "*", description))
	if err != nil {
		return nil, err
	}
	made := []Made{}
	for _, path := range paths {
		m, err := readMade(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		made = append(made, m)
	}
	slices.SortStableFunc(made, func(a, b Made) int { return b.Created.Compare(a.Created) })
	return made, nil
}

// Default returns the environment of modules that name none, if STOKER_PYTHON doesn't either: the
// one for CPU or GPU that was made last, or ErrNone.
func Default(home string) (Made, error) {
	made, err := All(home)
	if err != nil {
		return Made{}, err
	}
	for _, m := range made {
		if m.Kind == CPU || m.Kind == GPU {
			return m, nil
		}
	}
	return Made{}, ErrNone
}

// readMade returns fs.ErrNotExist if dir is not an environment, or an incomplete one.
func readMade(dir string) (Made, error) {
	path := filepath.Join(dir, description)
	text, err := os.ReadFile(path)
	if err != nil {
		return Made{}, err
	}
	var m Made
	if err := json.Unmarshal(text, &m); err != nil {
		return Made{}, fmt.Errorf("read the description of %s: %w", dir, err)
	}
	m.Dir, m.Interpreter = dir, interpreterIn(dir)
	if info, err := os.Stat(path); err == nil {
		m.Used = info.ModTime()
	}
	return m, nil
}

func (m Made) write() error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(m.Dir, description), text)
}

// used records that the environment of an interpreter is in use, if Stoker made it.
func used(interpreter string) {
	m, err := readMade(filepath.Dir(filepath.Dir(interpreter)))
	if err != nil {
		return
	}
	if now := time.Now(); now.Sub(m.Used) > usePeriod {
		// Otherwise it seems unused, and is made again one day.
		_ = os.Chtimes(filepath.Join(m.Dir, description), now, now)
	}
}

// Bytes returns the size of its files, including those that it shares with an installer's cache.
func (m Made) Bytes() (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(m.Dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// Remove removes an environment. A process that runs in it fails when it imports more. The
// environment's lock stays, because another process may wait for it.
func (m Made) Remove() error {
	// The description is removed first: if this is interrupted, an incomplete environment is left.
	return errors.Join(os.Remove(filepath.Join(m.Dir, description)), os.RemoveAll(m.Dir))
}

// Outdated returns why an environment may be removed: "" if it may not.
func (m Made) Outdated(now time.Time, unused time.Duration) string {
	_, baseErr := os.Stat(m.Base)
	// A venv's interpreter is a link to the Python that it was made with.
	_, linkErr := os.Stat(m.Interpreter)
	switch {
	case linkErr != nil:
		return "its Python is gone"
	case m.Base != "" && baseErr != nil:
		return "the environment on which it is based is gone"
	case now.Sub(m.Used) > unused:
		return fmt.Sprintf("unused since %s", m.Used.Format(time.DateOnly))
	}
	return ""
}
