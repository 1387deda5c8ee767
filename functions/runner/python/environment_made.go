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

// Made describes an environment of Stoker's making. It is in its folder, and is written last: a
// folder without it is half made.
type Made struct {
	Dir          string    `json:"dir"`
	Interpreter  string    `json:"interpreter"`
	Kind         Kind      `json:"kind,omitempty"`         // "" of one with a pipeline's requirements
	Base         string    `json:"base,omitempty"`         // of one with requirements: the interpreter whose packages it has too
	Requirements []string  `json:"requirements,omitempty"` // of one with requirements
	Python       string    `json:"python"`                 // 3.11.7
	Lock         string    `json:"lock,omitempty"`         // SHA-256 of the packages it was made of
	Created      time.Time `json:"created"`
	Used         time.Time `json:"used"` // last, to the hour
}

// description is its file. Its time of modification is that of the last use.
const description = "stoker.json"

// usePeriod is the precision of the last use.
const usePeriod = time.Hour

// Current says whether it has the packages that this version of Stoker would install.
func (m Made) Current() bool {
	lock, err := m.Kind.lock()
	return err == nil && m.Lock == digestOf(lock)
}

// All are the environments in a folder, the newest first: those of Make in its home, those with
// requirements in InCache.
func All(home string) ([]Made, error) {
	paths, err := filepath.Glob(filepath.Join(home, "*", description))
	if err != nil {
		return nil, err
	}
	made := []Made{}
	for _, path := range paths {
		m, err := readMade(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		made = append(made, m)
	}
	slices.SortStableFunc(made, func(a, b Made) int { return b.Created.Compare(a.Created) })
	return made, nil
}

// Default is the environment of modules that name none, where STOKER_PYTHON doesn't either: the one
// for CPU or GPU that was made last, or ErrNone.
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

// readMade is fs.ErrNotExist where dir is no environment, or half of one.
func readMade(dir string) (Made, error) {
	path := filepath.Join(dir, description)
	text, err := os.ReadFile(path)
	if err != nil {
		return Made{}, err
	}
	var m Made
	if err := json.Unmarshal(text, &m); err != nil {
		return Made{}, fmt.Errorf("read what %s is: %w", dir, err)
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

// used notes that the environment of an interpreter is, if it is of our making.
func used(interpreter string) {
	m, err := readMade(filepath.Dir(filepath.Dir(interpreter)))
	if err != nil {
		return
	}
	if now := time.Now(); now.Sub(m.Used) > usePeriod {
		_ = os.Chtimes(filepath.Join(m.Dir, description), now, now) // or it looks unused, and is made again one day
	}
}

// Bytes is how much its files hold, those that it shares with an installer's cache included.
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

// Remove takes an environment away. A process that runs in it fails when it imports more. Its lock
// stays, for another process may wait for it.
func (m Made) Remove() error {
	// The description goes first: what is left, should this be interrupted, is half an environment.
	return errors.Join(os.Remove(filepath.Join(m.Dir, description)), os.RemoveAll(m.Dir))
}

// Outdated says why an environment may go: "" where it may not.
func (m Made) Outdated(now time.Time, unused time.Duration) string {
	_, baseErr := os.Stat(m.Base)
	_, linkErr := os.Stat(m.Interpreter) // a venv's is a link to the Python that it was made with
	switch {
	case linkErr != nil:
		return "the Python it was made with is gone"
	case m.Base != "" && baseErr != nil:
		return "the environment it builds on is gone"
	case now.Sub(m.Used) > unused:
		return fmt.Sprintf("unused since %s", m.Used.Format(time.DateOnly))
	}
	return ""
}
