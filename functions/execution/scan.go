package execution

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// How long files of a module rest before they are taken to be whole, where nothing else says so.
const (
	settleTime = 2 * time.Second        // since their last change was seen
	scanPause  = 500 * time.Millisecond // between scans, at least
	freshTime  = 10 * time.Second       // in which a file that has the name of a partial one may still be written
	longStreak = 4                      // scans in a row in which a file has changed that is no checkpoint
)

const (
	maxLogLines    = 64 << 10       // bytes by which a log grows from one scan to the next, and the size of a file that is rewritten all the time
	maxWatched     = 50_000         // files; of more, only what the module itself says to be whole is kept
	maxEntries     = 2 * maxWatched // of folders: files, folders, links and whatever else a module makes
	bytesPerSecond = 50e6           // copying costs at most this: checkpoints of large folders are rarer
)

var (
	partialName = regexp.MustCompile(`(?i)(^|[/._-])(tmp|temp|temporary|part|partial|incomplete)([/._-]|$)`) // of a path
	logName     = regexp.MustCompile(`(^|/)events\.out\.tfevents\.[^/]*$|\.log$`)
	wholeName   = regexp.MustCompile(`(?i)\.(h5|hdf5|keras|npz|npy|pt|pth|pkl|pickle|joblib|safetensors|msgpack|index|zip|bin|ckpt|meta)$|\.data-\d+-of-\d+$|(^|/)checkpoint$`)
	numbered    = regexp.MustCompile(`\d`)
)

// scanner finds out which of a module's files are whole while the module keeps writing. Stillness
// is judged for each checkpoint by itself: a log that grows all the time, or the next checkpoint,
// which is being written, holds up no other. It is for one goroutine at a time.
//
// A file is whole when the format says so (completeFiles), or when it and those that belong to the
// same checkpoint have not changed for settleTime. Files belong together that have the same name up
// to its first dot, or lie in a folder with a number in its name.
type scanner struct {
	base    string   // which the module can't replace
	folders []string // below it, which the module writes to
	now     func() time.Time
	entries int // maxEntries

	files  map[string]tracked
	kept   map[string]stamp // of the files in the last checkpoint
	keptAt time.Time
}

// stamp identifies the content of a file by its size and modification time.
type stamp struct {
	size    int64
	changed time.Time
}

func (s stamp) is(other stamp) bool { return s.size == other.size && s.changed.Equal(other.changed) }

// tracked is what was seen of a file.
type tracked struct {
	stamp
	seen   time.Time // its last change
	streak int       // consecutive scans in which it had changed
	shrank bool      // in one of these, or kept its size: it is rewritten, and no log
	large  bool      // in one of these it grew by more than a log does, as a large file does that is being written
}

// selection is what a checkpoint is made of: all files but those that are not whole.
type selection struct {
	without   map[string]bool // not whole: left out
	logs      map[string]bool // which may end anywhere: copied as they are
	rewritten map[string]bool // all the time, like a count of steps: each is copied as it was at some moment
}

var errTooManyFiles = fmt.Errorf("more than %d files, or %d of files, folders and links, below working_dir and model_run_dir: only stoker.checkpoint() has them kept", maxWatched, maxEntries)

func newScanner(w Workspace, now func() time.Time) *scanner {
	s := &scanner{base: w.dir, folders: []string{w.Working(), w.Out(modelRun)}, now: now, entries: maxEntries, files: map[string]tracked{}}
	_ = s.scan() // an error comes back from the next scan
	s.keep(selection{})
	return s
}

// scan notes what has changed since the last scan.
func (s *scanner) scan() error {
	now, files, entries := s.now(), make(map[string]tracked, len(s.files)), 0
	for _, dir := range s.folders {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if entries++; entries > s.entries {
				return errTooManyFiles
			}
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if len(files) >= maxWatched {
				return errTooManyFiles
			}
			is := stamp{info.Size(), info.ModTime()}
			was, known := s.files[path]
			switch {
			case !known:
				was = tracked{stamp: is, seen: now, streak: 1}
			case !was.is(is):
				was = tracked{stamp: is, seen: now, streak: was.streak + 1, shrank: was.shrank || is.size <= was.size,
					large: was.large || is.size-was.size > maxLogLines}
			case now.Sub(was.seen) >= settleTime:
				was.streak, was.shrank, was.large = 0, false, false
			}
			files[path] = was
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.files = files
	return nil
}

// choose says of which files a checkpoint can be made now. ok is false where it would hold nothing
// new, come too soon after the last one, or lack a file that the last one has.
func (s *scanner) choose() (selection, bool) {
	chosen := s.split()
	var size int64
	fresh := false
	for path, f := range s.files {
		was, known := s.kept[path]
		if chosen.without[path] {
			if known {
				return chosen, false
			}
			continue
		}
		size += f.size
		fresh = fresh || !chosen.logs[path] && !chosen.rewritten[path] && !(known && was.is(f.stamp))
	}
	pause := max(time.Second, time.Duration(float64(size)/bytesPerSecond*float64(time.Second)))
	return chosen, fresh && s.now().Sub(s.keptAt) >= pause
}

// split finds the logs, by name or by growth in every scan, the files that are rewritten all the
// time, and the files that are not whole.
func (s *scanner) split() selection {
	now := s.now()
	chosen := selection{without: map[string]bool{}, logs: map[string]bool{}, rewritten: map[string]bool{}}
	busy := map[string]bool{} // checkpoints of which a file is being written
	for path, f := range s.files {
		switch {
		case logName.MatchString(path):
			chosen.logs[path] = true
		case f.streak >= longStreak && !f.large && !f.shrank && !wholeName.MatchString(path) && !s.isPartial(path):
			chosen.logs[path] = true
		case f.streak >= longStreak && f.shrank && f.size <= maxLogLines && !wholeName.MatchString(path) && !s.isPartial(path):
			chosen.rewritten[path] = true
		case now.Sub(f.seen) < settleTime, s.isPartial(path) && now.Sub(f.seen) < freshTime:
			busy[s.unit(path)] = true
		}
	}
	if len(busy) == 0 {
		return chosen
	}
	complete := s.completeFiles()
	written := map[string]bool{} // folders in which a checkpoint is being written
	for unit := range busy {
		written[filepath.Dir(unit)] = true
	}
	for path := range s.files {
		if filepath.Base(path) == tensorFlowState && !complete[path] && written[filepath.Dir(path)] {
			busy[s.unit(path)] = true // it may name one that is being written
		}
	}
	for path := range s.files {
		if !chosen.logs[path] && !chosen.rewritten[path] && !complete[path] && busy[s.unit(path)] {
			chosen.without[path] = true
		}
	}
	return chosen
}

// isPartial says whether a name, or that of a folder, is one that files have until they are whole.
func (s *scanner) isPartial(path string) bool {
	name := filepath.ToSlash(s.below(path))
	return partialName.MatchString(name) || strings.Contains(name, orbaxPartial)
}

// unit names the checkpoint that a file belongs to.
func (s *scanner) unit(path string) string {
	dir, name := filepath.Split(path)
	at := len(path) - len(s.below(path))
	for i := at; i < len(dir); i++ { // the outermost folder with a number in its name
		end := strings.IndexByte(dir[i:], filepath.Separator)
		if end < 0 {
			break
		}
		if numbered.MatchString(dir[i : i+end]) {
			return dir[:i+end]
		}
		i += end
	}
	stem, _, _ := strings.Cut(name, ".")
	return dir + stem
}

// below is a path in the folder of the module's that it lies in.
func (s *scanner) below(path string) string {
	for _, dir := range s.folders {
		if name, ok := strings.CutPrefix(path, dir+string(filepath.Separator)); ok {
			return name
		}
	}
	return path
}

// keep notes that a checkpoint was made.
func (s *scanner) keep(chosen selection) {
	s.keptAt, s.kept = s.now(), make(map[string]stamp, len(s.files))
	for path, f := range s.files {
		if !chosen.without[path] {
			s.kept[path] = f.stamp
		}
	}
}

// stopped notes that nothing is written any more, now that the process has ended: what was changed
// long enough before it did is whole.
func (s *scanner) stopped() {
	now := s.now()
	for path, f := range s.files {
		if age := now.Sub(f.changed); age >= settleTime { // by the file system's clock, which is this machine's
			f.seen = now.Add(-age)
			s.files[path] = f
		}
	}
	s.keptAt = time.Time{} // the last chance waits for no pause
}

// open opens a file of the module's to read it.
func (s *scanner) open(path string) (*os.File, error) {
	for _, dir := range s.folders {
		name, ok := strings.CutPrefix(path, dir+string(filepath.Separator))
		if !ok {
			continue
		}
		return openOfModule(s.base, dir, filepath.ToSlash(name))
	}
	return nil, fs.ErrNotExist
}
