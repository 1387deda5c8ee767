package execution

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/functions/runner"
)

// Names in the formats of checkpoints.
const (
	tensorFlowState = "checkpoint"                  // names the newest of a folder, and is written after it
	orbaxPartial    = ".orbax-checkpoint-tmp"       // in the name of a folder until all is in it; then the folder is renamed
	orbaxMetadata   = "_CHECKPOINT_METADATA"        // in a folder of Orbax
	maxState        = 64 << 10                      // bytes of a state file that are read
	zipEnd          = "PK\x05\x06"                  // begins the last record of a zip file, which .keras is
	hdf5Begin       = "\x89HDF\r\n\x1a\n"           // begins a file of HDF5, which .h5 is
	shardPattern    = `^(.*)\.data-(\d+)-of-(\d+)$` // a file of the values of a checkpoint of TensorFlow
)

var (
	shardName     = regexp.MustCompile(shardPattern)
	newestInState = regexp.MustCompile(`(?m)^model_checkpoint_path: "((?:[^"\\]|\\.)*)"`)
)

// completeFiles are those of which the format itself says that they are whole, however lately they
// were written:
//
//   - a checkpoint of TensorFlow that the file "checkpoint" of its folder names as the newest, with its index and all its shards, that file,
//     and older ones of that folder that are as complete
//   - a folder of Orbax that has its final name
//   - a file of Keras that ends as a zip file does (.keras), or is as long as its HDF5 header says (.h5)
func (s *scanner) completeFiles() map[string]bool {
	complete := map[string]bool{}
	checkpoints := s.tensorFlowCheckpoints()
	orbax := orbaxFolders{}
	for path := range s.files {
		switch name := filepath.Base(path); {
		case name == tensorFlowState:
			s.addTensorFlow(path, checkpoints[filepath.Dir(path)], complete)
		case name == orbaxMetadata && !s.isPartial(path):
			orbax[filepath.Dir(path)] = true
		case strings.HasSuffix(name, ".keras"):
			complete[path] = s.isWholeZip(path)
		case strings.HasSuffix(name, ".h5"), strings.HasSuffix(name, ".hdf5"):
			complete[path] = s.isWholeHDF5(path)
		}
	}
	if len(orbax) == 0 {
		return complete
	}
	for path := range s.files {
		if orbax.hold(filepath.Dir(path)) && !s.isPartial(path) {
			complete[path] = true
		}
	}
	return complete
}

// orbaxFolders says of a folder whether it is one of Orbax or lies in one.
type orbaxFolders map[string]bool

func (o orbaxFolders) hold(dir string) bool {
	holds, known := o[dir]
	if above := filepath.Dir(dir); !known && above != dir {
		holds = o.hold(above)
		o[dir] = holds // so that each folder is looked at once, however deep a module nests them
	}
	return holds
}

// addTensorFlow adds the checkpoints of a folder, if the newest is there.
func (s *scanner) addTensorFlow(state string, checkpoints map[string]*sharded, complete map[string]bool) {
	text := s.read(state, 0, maxState)
	found := newestInState.FindSubmatch(text)
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
	shards []string
	wanted int // shards
}

// tensorFlowCheckpoints are those of each folder by their prefix.
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
		c.wanted, _ = strconv.Atoi(m[3])
	}
	return folders
}

// isWhole says whether a checkpoint has its index and all shards. The index is written last.
func (s *scanner) isWhole(prefix string, c *sharded) bool {
	if c == nil {
		return false
	}
	_, indexed := s.files[prefix+".index"]
	return indexed && len(c.shards) == c.wanted
}

// isWholeZip says whether a zip file has its last record, without a comment behind it.
func (s *scanner) isWholeZip(path string) bool {
	const length = 22
	end := s.read(path, s.files[path].size-length, length)
	return len(end) == length && bytes.HasPrefix(end, []byte(zipEnd))
}

// isWholeHDF5 says whether a file is as long as its superblock says, which is so once it is closed.
func (s *scanner) isWholeHDF5(path string) bool {
	head := s.read(path, 0, 64)
	if len(head) < 64 || !bytes.HasPrefix(head, []byte(hdf5Begin)) {
		return false
	}
	at := map[byte]int{0: 40, 1: 44, 2: 28, 3: 28}[head[8]] // where the length of the file stands
	return at > 0 && binary.LittleEndian.Uint64(head[at:]) == uint64(s.files[path].size)
}

// read returns bytes of a file of the module's, fewer at its end, and none where it can't be read.
func (s *scanner) read(path string, from, most int64) []byte {
	if from < 0 {
		return nil
	}
	file, err := s.open(path)
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

// openOfModule opens a regular file in a folder that a module may write to.
func openOfModule(base, dir, name string) (*os.File, error) {
	root, err := runner.OpenFolder(base, dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return runner.OpenRegular(root, name)
}
