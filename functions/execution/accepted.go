package execution

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// acceptedGraphs remembers which graphs a check has accepted, so that a pipeline's next run, which as a rule names the same transform
// graph, starts no process to check it again. Graphs are known by the SHA-256 of all names and bytes in their directories, with what
// else a check depends on. Its methods may be called from several goroutines at once.
type acceptedGraphs struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
}

const (
	mostAccepted     = 4096
	mostAcceptedSize = 64 << 20 // bytes of all files; what is larger is checked each time
)

// has says whether graphs with this key were accepted.
func (a *acceptedGraphs) has(key [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[key]
}

func (a *acceptedGraphs) add(key [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= mostAccepted {
		a.known = map[[sha256.Size]byte]bool{}
	}
	a.known[key] = true
}

// keyOfGraphs reads the files of all graphs of a question. ok is false where they are too large to be read twice.
func keyOfGraphs(ctx context.Context, q modelcheck.Question, r pipeline.Resources) (key [sha256.Size]byte, ok bool, err error) {
	h, left := sha256.New(), int64(mostAcceptedSize)
	fmt.Fprintf(h, "%q %d %d\n", q.ExtraOps, r.Memory.Bytes(), r.Timeout.Duration())
	for _, g := range q.Graphs {
		fmt.Fprintf(h, "graph\n")
		if left, err = hashFiles(ctx, h, os.DirFS(g.Dir), left); err != nil || left < 0 {
			return key, false, err
		}
	}
	h.Sum(key[:0])
	return key, true, nil
}

// hashFiles writes the name, the size and the bytes of each file to h, and returns how many of the bytes in left it did not need. It stops
// and returns fewer than 0 when there are more, or when something is no regular file.
func hashFiles(ctx context.Context, h io.Writer, folder fs.FS, left int64) (int64, error) {
	err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 || !info.Mode().IsRegular() { // staging makes regular files
			left = min(left, -1)
			return fs.SkipAll
		}
		file, err := folder.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		fmt.Fprintf(h, "%q %d\n", path, info.Size())
		n, err := io.Copy(h, io.LimitReader(file, info.Size()))
		if err == nil && n != info.Size() {
			err = fmt.Errorf("%s: has %d bytes, expected %d", path, n, info.Size())
		}
		return err
	})
	return left, err
}
