package graph

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/ops"
)

// Limits limit the execution of a graph: a small file may need any amount of memory and time. The
// zero Limits are the defaults.
type Limits struct {
	// Bytes limits the memory of one execution at a time: constants, variables and tables of the
	// session, and the tensors of one run. Fed tensors aren't counted. 0 is DefaultBytes and four
	// times the size of the model's files, which are what its variables and vocabularies need.
	// Programs that run at the same time have this limit each. The process may use up to about
	// twice as much, because released memory is only collected then.
	Bytes int64

	// Steps limits the nodes that one run executes, including those of functions and of each pass
	// of a loop; 0 is DefaultSteps.
	Steps int64

	// Time limits one run, and each of Start and Compile; 0 is DefaultTime.
	Time time.Duration
}

// The defaults of Limits.
const (
	DefaultBytes = 1 << 30
	DefaultSteps = 1 << 26
	DefaultTime  = 5 * time.Minute
)

// ErrLimit is in the chain of the error of an execution that exceeded its Limits: the error names
// the node, its op, the requested bytes and the limit. It isn't in the chain if the caller's
// context has ended.
var ErrLimit = ops.ErrLimit

// overFiles is the default limit of a model's memory, as a multiple of the size of its files.
const overFiles = 4

func (l Limits) withDefaults(m *Model) Limits {
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes + overFiles*m.fileBytes()
	}
	l.Steps, l.Time = cmp.Or(l.Steps, DefaultSteps), cmp.Or(l.Time, DefaultTime)
	return l
}

// fileBytes returns the size of the files of variables and assets.
func (m *Model) fileBytes() (bytes int64) {
	for _, folder := range []string{"variables", "assets"} {
		filepath.WalkDir(filepath.Join(m.Dir, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				bytes += info.Size()
			}
			return nil
		})
	}
	return bytes
}

// context returns ctx with the time limit.
func (l Limits) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, l.Time, fmt.Errorf("takes longer than %v (%w)", l.Time, ErrLimit))
}
