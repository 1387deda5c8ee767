package runner

import (
	"path/filepath"
	"strconv"

	"github.com/stoker-ml/stoker/functions/module"
)

// takenFile stands in the home of a process and says how many of its checkpoints of all (module.Message) the worker has taken.
// The driver of TFX modules waits for it, so that what trains doesn't write to files while they are copied.
const takenFile = ".stoker-taken"

// taken is on, which says so.
func taken(home string, on func(module.Message)) func(module.Message) {
	count := 0
	return func(m module.Message) {
		if on != nil {
			on(m)
		}
		if m.Type == module.MessageCheckpoint && m.All {
			count++
			// Who does not hear of it goes on after a while.
			_ = WriteInFolder(filepath.Dir(home), home, takenFile, []byte(strconv.Itoa(count)+"\n"))
		}
	}
}
