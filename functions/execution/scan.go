package execution

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/runner"
)

// How long a file must stay unchanged before it counts as whole, unless its format says so.
const (
	settleTime = 2 * time.Second        // since the scan that saw its last change
	scanPause  = 500 * time.Millisecond // between scans, at least
	freshTime  = 10 * time.Second       // the same for a file with the name of a partial one
	// Consecutive scans with a change that only other files have.
	longStreak = 4
)

const (
	// maxLogLines is the most bytes that a log grows by from one scan to the next, and the largest
	// size of a file that is rewritten all the time.
	maxLogLines    = 64 << 10
	maxWatched     = 50_000         // files; of more, only reported checkpoints are saved
	maxEntries     = 2 * maxWatched // directory entries: files, directories, links and all else
	bytesPerSecond = 50e6           // copying takes at most this much on average
)

var (
	partialName = regexp.MustCompile(`(?i)(^|[/._-])(tmp|temp|temporary|part|partial|incomplete)([/._-]|$)`)
	logName     = regexp.MustCompile(`(^|/)events\.out\.tfevents\.[^/]*$|\.log$`)
	wholeName   = regexp.MustCompile(`(?i)\.(h5|hdf5|keras|npz|npy|pt|pth|pkl|pickle|joblib|safetensors|msgpack|index|zip|bin|bkp|ckpt|meta)$|\.data-\d+-of-\d+$|(^|/)checkpoint$|(^|/)training_metadata\.json$`)
	numbered    = regexp.MustCompile(`\d`)
)

// scanner finds out which of a module's files are whole while the module keeps writing. Each
// checkpoint is judged by itself: neither a log that grows all the time nor the next checkpoint,
// which is being written, delays the others. A scanner is for one goroutine at a time.
//
// A file is whole if its format says so (formats), or if no file of the same checkpoint has changed
// for settleTime. Files of one checkpoint are those below the outermost directory with a number in
// its name, those of one directory of Orbax, the pair that Keras's BackupAndRestore writes, or else
// those of one directory whose names are equal up to the first dot.
type scanner struct {
	base    string   // a directory that the module can't replace
	folders []string // below base: the directories that the module writes to
	now     func() time.Time
	entries int // maxEntries

	files     map[string]tracked
	scannedAt time.Time
	saved     map[string]stamp // the files of the last checkpoint
	savedAt   time.Time
	over      bool // the module's process has ended
}

// stamp identifies the content of a file by its size and modification time.
type stamp struct {
	size    int64
	changed time.Time
}

func (s stamp) is(other stamp) bool { return s.size == other.size && s.changed.Equal(other.changed) }

// tracked is the state of a file as the scans have seen it.
type tracked struct {
	stamp
	seen   time.Time // the scan that saw its last change
	streak int       // consecutive scans in which it had changed
	shrank bool      // it did not grow in one of these: it is rewritten, and no log
	large  bool      // it grew by more than maxLogLines in one of these: it is no log
}

// selection names the files of a checkpoint. The zero value stands for all files.
type selection struct {
	whole map[string]stamp // files that must still have these stamps when they are copied
	logs  map[string]bool  // files that only grow and may end anywhere: copied as they are
	// Files like a count of steps: each is copied as it was at some moment.
	rewritten map[string]bool
	without   map[string]bool // files that are not whole: left out
}

// has reports whether a file belongs to the checkpoint.
func (c selection) has(path string) bool {
	if c.whole == nil {
		return true
	}
	_, whole := c.whole[path]
	return whole || c.logs[path]
}

var errTooManyFiles = fmt.Errorf("working_dir and model_run_dir hold more than %d files, or %d directory entries: "+
	"only checkpoints that the module reports by stoker.checkpoint() are saved", maxWatched, maxEntries)

// newScanner scans the module's directories as they are before it starts. What they hold belongs to
// the checkpoint that the attempt resumes from.
func newScanner(w Workspace, now func() time.Time) *scanner {
	s := &scanner{base: w.dir, folders: []string{w.Working(), w.Out(modelRun)}, now: now, entries: maxEntries, files: map[string]tracked{}}
	_ = s.scan() // the next scan returns the error again
	s.recordSaved(selection{})
	return s
}

// scan lists the files and notes which have changed since the last scan.
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
			files[path] = s.track(path, stamp{info.Size(), info.ModTime()}, now)
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.files, s.scannedAt = files, now
	return nil
}

// track returns the new state of a file that has this stamp now.
func (s *scanner) track(path string, is stamp, now time.Time) tracked {
	file, known := s.files[path]
	switch {
	case !known:
		return tracked{stamp: is, seen: now, streak: 1}
	case !file.is(is):
		return tracked{stamp: is, seen: now, streak: file.streak + 1, shrank: file.shrank || is.size <= file.size,
			large: file.large || is.size-file.size > maxLogLines}
	case now.Sub(file.seen) >= settleTime:
		file.streak, file.shrank, file.large = 0, false, false
	}
	return file
}

// choose selects the files of a checkpoint. It returns false if the checkpoint would hold nothing
// new, would come too soon after the last one, or would lack a file that the last one has.
func (s *scanner) choose() (selection, bool) {
	chosen, known := s.split()
	var size int64
	fresh := false
	for path, file := range s.files {
		last, saved := s.saved[path]
		if chosen.without[path] {
			if saved && !known.isSpare(path) {
				return chosen, false
			}
			continue
		}
		size += file.size
		_, whole := chosen.whole[path]
		fresh = fresh || whole && !(saved && last.is(file.stamp))
	}
	pause := max(time.Second, time.Duration(float64(size)/bytesPerSecond*float64(time.Second)))
	return chosen, fresh && s.now().Sub(s.savedAt) >= pause
}

// split sorts the files into logs (by name, or by growth in every scan), files that are rewritten
// all the time, files that are not whole, and the others, which are whole.
func (s *scanner) split() (selection, *formats) {
	chosen := selection{whole: map[string]stamp{}, logs: map[string]bool{}, rewritten: map[string]bool{}, without: map[string]bool{}}
	known := s.formats()
	busy := map[string]bool{} // checkpoints of which a file is being written
	for path, file := range s.files {
		age, partial := s.scannedAt.Sub(file.seen), s.isPartial(path) || known.isUnfinished(path)
		changing := file.streak >= longStreak && !partial && !known.isOfFormat(path)
		switch {
		case logName.MatchString(path), changing && !file.large && !file.shrank:
			chosen.logs[path] = true
		case changing && file.shrank && file.size <= maxLogLines:
			chosen.rewritten[path] = true
		case age < settleTime, partial && age < freshTime:
			busy[s.unit(path, known)] = true
		}
	}
	if len(busy) > 0 {
		known.findComplete()
		s.addNamedByState(busy, known)
	}
	for path, file := range s.files {
		switch {
		case chosen.logs[path], chosen.rewritten[path]:
		case busy[s.unit(path, known)] && !known.complete[path]:
			chosen.without[path] = true
		default:
			chosen.whole[path] = file.stamp
		}
	}
	return chosen, known
}

// addNamedByState adds each state file of TensorFlow to the busy checkpoints if it may name one
// that is being written next to it.
func (s *scanner) addNamedByState(busy map[string]bool, known *formats) {
	written := map[string]bool{} // directories in which a checkpoint is being written
	for unit := range busy {
		written[filepath.Dir(unit)] = true
	}
	for path := range s.files {
		if filepath.Base(path) == tensorFlowState && !known.complete[path] && written[filepath.Dir(path)] {
			busy[s.unit(path, known)] = true
		}
	}
}

// isPartial reports whether a file, or a directory that it lies in, has a name that is used until
// the file is whole. That is so for Orbax's directories with .orbax-checkpoint-tmp in their names.
func (s *scanner) isPartial(path string) bool {
	return partialName.MatchString(filepath.ToSlash(s.below(path)))
}

// unit names the checkpoint that a file belongs to.
func (s *scanner) unit(path string, known *formats) string {
	unit := known.unit(path)
	if outer := s.numberedDir(path); outer != "" && (unit == "" || len(outer) < len(unit)) {
		return outer
	}
	if unit != "" {
		return unit
	}
	dir, name := filepath.Split(path)
	stem, _, _ := strings.Cut(name, ".")
	return dir + stem
}

// numberedDir returns the outermost directory of a file that has a number in its name, or "".
func (s *scanner) numberedDir(path string) string {
	dir, _ := filepath.Split(path)
	for i := len(path) - len(s.below(path)); i < len(dir); i++ {
		end := strings.IndexByte(dir[i:], filepath.Separator)
		if end < 0 {
			break
		}
		if numbered.MatchString(dir[i : i+end]) {
			return dir[:i+end]
		}
		i += end
	}
	return ""
}

// below returns the part of a path below the module's directory that it lies in.
func (s *scanner) below(path string) string {
	for _, dir := range s.folders {
		if name, ok := strings.CutPrefix(path, dir+string(filepath.Separator)); ok {
			return name
		}
	}
	return path
}

// recordSaved notes that a checkpoint was made of the chosen files.
func (s *scanner) recordSaved(chosen selection) {
	s.savedAt, s.saved = s.now(), make(map[string]stamp, len(s.files))
	for path, file := range s.files {
		if !chosen.without[path] {
			s.saved[path] = file.stamp
		}
	}
}

// stopped notes that the process has ended and writes nothing any more: files that it had changed
// long enough before are whole. The next checkpoint may follow the last one without a pause.
func (s *scanner) stopped() {
	now := s.now()
	for path, file := range s.files {
		// The file system uses this machine's clock.
		if age := now.Sub(file.changed); age >= settleTime {
			file.seen = now.Add(-age)
			s.files[path] = file
		}
	}
	s.scannedAt, s.savedAt, s.over = now, time.Time{}, true
}

// read returns at most the given number of bytes of a module's file from an offset on: fewer at the
// end of the file, none if it can't be read.
func (s *scanner) read(path string, from, most int64) []byte {
	if from < 0 {
		return nil
	}
	for _, dir := range s.folders {
		name, ok := strings.CutPrefix(path, dir+string(filepath.Separator))
		if !ok {
			continue
		}
		file, err := openOfModule(s.base, dir, filepath.ToSlash(name))
		if err != nil {
			return nil
		}
		defer file.Close()
		data, err := io.ReadAll(io.NewSectionReader(file, from, most))
		if err != nil {
			return nil
		}
		return data
	}
	return nil
}

// openOfModule opens a regular file in a directory that a module may write to.
func openOfModule(base, dir, name string) (*os.File, error) {
	root, err := runner.OpenFolder(base, dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return runner.OpenRegular(root, name)
}
