package execution

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Names of TensorFlow (tensorflow/python/checkpoint/checkpoint_management.py). Keras 2 writes them
// too: its BackupAndRestore has a CheckpointManager in the directory "chief" of backup_dir
// (tf_keras/distribute/worker_training_state.py).
const (
	// tensorFlowState names the newest checkpoint of a directory, and is written after it.
	tensorFlowState = "checkpoint"
	// shardPattern matches a file with values of a checkpoint.
	shardPattern = `^(.*)\.data-(\d+)-of-(\d+)$`
)

// Names of Orbax (google/orbax, below checkpoint/orbax/checkpoint). A CheckpointManager has one
// directory for each step (0, 000010, step_10: _src/path/step.py) with one for each item in it
// (default, or the caller's names: checkpoint_manager.py). A Checkpointer has the files of an item
// right in its directory.
//
// A directory is either written under a name with .orbax-checkpoint-tmp in it and then renamed, or
// written in place and finished by a last file (_src/path/atomicity.py: AtomicRenameTemporaryPath,
// CommitFileTemporaryPath). Before 0.12.3 only the latter wrote that file (CHANGELOG.md).
const (
	// The last file of a directory (_src/path/atomicity_types.py).
	orbaxCommit = "commit_success.txt"
	// Since 0.5.11 the first file of a step (_src/metadata/checkpoint.py).
	orbaxMetadata = "_CHECKPOINT_METADATA"
	// The structure of an item (_src/path/format_utils.py).
	orbaxTree = "_METADATA"
	// The index of arrays, which are in the directory d next to it: one of an item, and one in it
	// for each process (_src/path/format_utils.py, _src/serialization/ocdbt_process_spec.py).
	orbaxManifest = "manifest.ocdbt"
	orbaxProcess  = "ocdbt.process_"
	// How arrays of an item are sharded (_src/metadata/sharding.py).
	orbaxSharding = "_sharding"
	// A directory with metadata of an item's arrays (_src/metadata/array_metadata_store.py).
	orbaxArrays = "array_metadatas"
)

// Names of Keras 3's BackupAndRestore (keras-team/keras, keras/src/callbacks/backup_and_restore.py,
// the same from 3.0 to 3.16). Both files are rewritten in place for each backup, the state after
// the weights. From 3.7 on, double_checkpoint copies both to names with a suffix first.
const (
	kerasWeights = "latest.weights.h5"
	kerasState   = "training_metadata.json"
	kerasBackup  = ".bkp"
)

const (
	zipEnd    = "PK\x05\x06"        // begins the last record of a zip file, as .keras is one
	hdf5Begin = "\x89HDF\r\n\x1a\n" // begins an HDF5 file, as .h5 is one
	maxState  = 1 << 20             // bytes of a state or metadata file that are read
)

var (
	shardName     = regexp.MustCompile(shardPattern)
	newestInState = regexp.MustCompile(`(?m)^model_checkpoint_path: "((?:[^"\\]|\\.)*)"`)
)

// formats holds what the names and contents of a scanner's files say about checkpoints.
type formats struct {
	scanner  *scanner
	orbax    orbaxFolders
	complete map[string]bool // filled by findComplete
}

func (s *scanner) formats() *formats {
	return &formats{scanner: s, orbax: s.orbaxFolders(), complete: map[string]bool{}}
}

// isOfFormat reports whether a file has a name that checkpoints have: it is neither a log nor a
// count of steps, however often it changes.
func (f *formats) isOfFormat(path string) bool {
	return wholeName.MatchString(path) || f.orbax.of(filepath.Dir(path)).root != ""
}

// isUnfinished reports whether the format says that the checkpoint of a file is still being
// written.
func (f *formats) isUnfinished(path string) bool {
	return f.orbax.of(filepath.Dir(path)).state == orbaxUnfinished
}

// unit names the checkpoint that a file belongs to by its format; "" if the format says nothing.
func (f *formats) unit(path string) string {
	dir, name := filepath.Split(path)
	switch base := strings.TrimSuffix(name, kerasBackup); base {
	case kerasWeights, kerasState:
		return dir + kerasWeights + strings.TrimPrefix(name, base)
	}
	return f.orbax.of(filepath.Clean(dir)).root
}

// findComplete finds the files whose format says that they are whole, however recently they were
// written:
//
//   - a checkpoint of TensorFlow that the file "checkpoint" of its directory names as the newest,
//     if its index and all its shards are there; that file, and older checkpoints of the directory
//     that have all their files
//   - a finished directory of Orbax
//   - a backup of Keras 3 whose state is newer than its weights
//   - a file of Keras that ends as a zip file does (.keras), or is as long as its HDF5 header says
//     (.h5)
func (f *formats) findComplete() {
	s := f.scanner
	checkpoints := s.tensorFlowCheckpoints()
	for path := range s.files {
		dir, name := filepath.Split(path)
		switch base := strings.TrimSuffix(name, kerasBackup); {
		case name == tensorFlowState:
			s.addTensorFlow(path, checkpoints[filepath.Clean(dir)], f.complete)
		case base == kerasState:
			s.addKerasBackup(path, dir+kerasWeights+strings.TrimPrefix(name, base), f.complete)
		case base == kerasWeights: // complete with its state
		case strings.HasSuffix(name, ".keras"):
			f.complete[path] = s.isWholeZip(path)
		case strings.HasSuffix(name, ".h5"), strings.HasSuffix(name, ".hdf5"):
			f.complete[path] = s.isWholeHDF5(path)
		}
		if f.orbax.of(filepath.Clean(dir)).state == orbaxFinished && !s.isPartial(path) {
			f.complete[path] = true
		}
	}
	if s.over {
		f.addKerasCopies()
	}
}

// addKerasCopies adds backups of Keras 3 whose weights were cut off by the end of the process, if
// the copies next to them are whole: Keras restores the copies if it can't read the weights.
func (f *formats) addKerasCopies() {
	for path := range f.scanner.files {
		dir, name := filepath.Split(path)
		if state := dir + kerasState; name == kerasWeights && f.complete[path+kerasBackup] && !f.scanner.isWholeHDF5(path) {
			f.complete[path], f.complete[state] = true, true
		}
	}
}

// isSpare reports whether a file is a copy of one of a complete backup of Keras 3. A checkpoint
// does without the copy.
func (f *formats) isSpare(path string) bool {
	original, is := strings.CutSuffix(path, kerasBackup)
	return is && f.complete[original]
}

// orbaxState is the state of a directory of Orbax. A directory's state replaces lesser ones of the
// directories below it.
type orbaxState int

const (
	orbaxUnknown orbaxState = iota
	orbaxFinished
	orbaxUnfinished
)

// orbaxFolder describes a directory: the outermost directory of the checkpoint that it belongs to,
// "" if it belongs to none, and whether that checkpoint is finished.
type orbaxFolder struct {
	root  string
	state orbaxState
}

// orbaxFolders finds out to which checkpoint of Orbax a directory belongs. Each directory is
// examined once, however deep they are nested.
type orbaxFolders struct {
	marked map[string]orbaxState // directories with one of Orbax's files in them
	found  map[string]orbaxFolder
}

func (s *scanner) orbaxFolders() orbaxFolders {
	o := orbaxFolders{marked: map[string]orbaxState{}, found: map[string]orbaxFolder{}}
	for path := range s.files {
		dir := filepath.Dir(path)
		within := filepath.Base(dir)
		switch name := filepath.Base(path); {
		case name == orbaxCommit:
			o.marked[dir] = orbaxFinished
		case name == orbaxMetadata:
			if _, finished := s.files[filepath.Join(dir, orbaxCommit)]; !finished {
				o.marked[dir] = s.orbaxStep(path)
			}
		case within == orbaxArrays, name == orbaxManifest && strings.HasPrefix(within, orbaxProcess):
			o.mark(filepath.Dir(dir))
		case name == orbaxTree, name == orbaxManifest, name == orbaxSharding:
			o.mark(dir)
		}
	}
	return o
}

// mark notes that a directory belongs to Orbax.
func (o orbaxFolders) mark(dir string) { o.marked[dir] = max(o.marked[dir], orbaxUnknown) }

// of describes a directory.
func (o orbaxFolders) of(dir string) orbaxFolder {
	folder, known := o.found[dir]
	if known {
		return folder
	}
	if above := filepath.Dir(dir); above != dir {
		folder = o.of(above)
	}
	if state, marked := o.marked[dir]; marked {
		if folder.root == "" {
			folder.root = dir
		}
		folder.state = max(folder.state, state)
	}
	o.found[dir] = folder
	return folder
}

// orbaxStep reads the state of a directory without commit_success.txt from its metadata. Orbax sets
// the time of the commit right before it renames the directory, or right before it writes
// commit_success.txt: the latter is excluded by metadata that an earlier scan has seen, or by the
// end of the process.
func (s *scanner) orbaxStep(path string) orbaxState {
	var metadata struct {
		Committed *int64 `json:"commit_timestamp_nsecs"`
	}
	if json.Unmarshal(s.read(path, 0, maxState), &metadata) != nil || metadata.Committed == nil {
		return orbaxUnfinished
	}
	if !s.over && !s.files[path].seen.Before(s.scannedAt) {
		return orbaxUnfinished
	}
	return orbaxFinished
}

// addKerasBackup adds the two files of a backup of Keras 3 if they belong together: both are whole,
// and the state was written after the weights.
func (s *scanner) addKerasBackup(state, weights string, complete map[string]bool) {
	last, there := s.files[weights]
	if !there || s.files[state].changed.Before(last.changed) || !json.Valid(s.read(state, 0, maxState)) || !s.isWholeHDF5(weights) {
		return
	}
	complete[state], complete[weights] = true, true
}

// addTensorFlow adds the checkpoints of a directory if the newest is whole.
func (s *scanner) addTensorFlow(state string, checkpoints map[string]*sharded, complete map[string]bool) {
	found := newestInState.FindSubmatch(s.read(state, 0, maxState))
	if found == nil {
		return
	}
	newest, err := strconv.Unquote(`"` + string(found[1]) + `"`)
	if err != nil {
		return
	}
	if !filepath.IsAbs(newest) {
		newest = filepath.Join(filepath.Dir(state), newest)
	}
	if !s.isWhole(newest, checkpoints[newest]) {
		return
	}
	complete[state] = true
	for prefix, c := range checkpoints {
		if !s.isWhole(prefix, c) {
			continue
		}
		for _, path := range append(c.shards, prefix+".index", prefix+".meta") {
			if _, there := s.files[path]; there {
				complete[path] = true
			}
		}
	}
}

// sharded is a checkpoint of TensorFlow.
type sharded struct {
	shards []string // paths
	count  int      // set back, as if the file had not changed for a minute
}

// tensorFlowCheckpoints returns the checkpoints of each directory by their prefix.
func (s *scanner) tensorFlowCheckpoints() map[string]map[string]*sharded {
	folders := map[string]map[string]*sharded{}
	for path := range s.files {
		dir, name := filepath.Split(path)
		m := shardName.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		folder := filepath.Clean(dir)
		if folders[folder] == nil {
			folders[folder] = map[string]*sharded{}
		}
		c := folders[folder][dir+m[1]]
		if c == nil {
			c = &sharded{}
			folders[folder][dir+m[1]] = c
		}
		c.shards = append(c.shards, path)
		c.count, _ = strconv.Atoi(m[3])
	}
	return folders
}

// isWhole reports whether a checkpoint has its index, which is written last, and all its shards.
func (s *scanner) isWhole(prefix string, c *sharded) bool {
	if c == nil {
		return false
	}
	_, indexed := s.files[prefix+".index"]
	return indexed && len(c.shards) == c.count
}

// isWholeZip reports whether a zip file has its last record, with no comment after it.
func (s *scanner) isWholeZip(path string) bool {
	const length = 22
	end := s.read(path, s.files[path].size-length, length)
	return len(end) == length && bytes.HasPrefix(end, []byte(zipEnd))
}

// isWholeHDF5 reports whether a file is as long as its superblock says, which is so once it is
// closed.
func (s *scanner) isWholeHDF5(path string) bool {
	head := s.read(path, 0, 64)
	if len(head) < 64 || !bytes.HasPrefix(head, []byte(hdf5Begin)) {
		return false
	}
	at := map[byte]int{0: 40, 1: 44, 2: 28, 3: 28}[head[8]] // the offset of the length of the file
	return at > 0 && binary.LittleEndian.Uint64(head[at:]) == uint64(s.files[path].size)
}
