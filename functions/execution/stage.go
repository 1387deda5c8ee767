package execution

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// atOnce is how many artifacts are listed or staged at a time. Small ones cost little more than a
// round trip each.
const atOnce = 4

// StageIn copies every input to the workspace, exactly as it was listed when the execution was
// identified. It refuses graphs with operations that no model needs, and a schema that does not
// parse.
func (a *Attempt) StageIn(ctx context.Context) error {
	if err := a.stage(ctx); err != nil {
		return err
	}
	return a.checkInputs(ctx)
}

func (a *Attempt) stage(ctx context.Context) (err error) {
	ctx, span := telemetry.Start(ctx, "stage")
	defer span.End(&err)
	a.Report(events.Progress{Phase: "staging"})
	staging, ctx := errgroup.WithContext(ctx)
	staging.SetLimit(atOnce)
	for _, in := range a.Execution.Inputs {
		staging.Go(func() error {
			options := storage.StageOptions{Listing: &in.Listing}
			if _, err := storage.StageIn(ctx, a.executor.store, in.Listing.Ref, a.Workspace.In(in.Dir), options); err != nil {
				return StoreFailure(fmt.Errorf("%s: %w", in.Key, err))
			}
			return nil
		})
	}
	return staging.Wait()
}

// StageFirst copies the first file of an input that doesn't determine the result. Its errors are
// the store's.
func (a *Attempt) StageFirst(ctx context.Context, in Input) error {
	listing, err := a.executor.listOne(ctx, in)
	if err != nil {
		return err
	}
	if len(listing.Files) > 1 {
		listing.Files = listing.Files[:1]
	}
	in.Listing = listing
	a.also = append(a.also, in)
	_, err = storage.StageIn(ctx, a.executor.store, listing.Ref, a.Workspace.In(in.Dir), storage.StageOptions{Listing: &listing})
	return err
}

// ErrArtifactChanged is returned by StageArtifact for an artifact that is gone or has changed.
var ErrArtifactChanged = errors.New("the artifact is gone or has changed")

// StageArtifact copies an artifact to a local directory, if it is still as the execution was
// identified with it. Its other errors are the store's.
func (a *Attempt) StageArtifact(ctx context.Context, artifact events.Artifact, dir string) error {
	listing, err := storage.List(ctx, a.executor.store, refOf(artifact.URI))
	if err == nil && listing.Digest != artifact.Digest {
		err = ErrArtifactChanged
	}
	if err == nil {
		_, err = storage.StageIn(ctx, a.executor.store, listing.Ref, dir, storage.StageOptions{Listing: &listing})
	}
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrChanged), errors.Is(err, ErrArtifactChanged):
		return fmt.Errorf("%s: %w", artifact.URI, ErrArtifactChanged)
	case err != nil:
		return StoreFailure(fmt.Errorf("%s: %w", artifact.URI, err))
	}
	return nil
}

// checkInputs refuses graphs that events name if they have operations that no model needs:
// operations that open files, scripts or other processes would do so wherever the published model
// is served. It refuses a schema that does not parse before any module is started, whether the
// module reads it or not. A child process reads the inputs, within the limits of the job; inputs
// that this worker has accepted before are not checked again.
func (a *Attempt) checkInputs(ctx context.Context) error {
	q, err := a.inputsQuestion()
	if err != nil || len(q.Graphs) == 0 && q.Schema == "" {
		return err
	}
	key, small, err := keyOfInputs(ctx, a.question(q), a.Execution.Resources)
	if err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("read staged inputs: %w", err))
	}
	if small && a.executor.accepted.has(key) {
		return nil
	}
	answer, err := a.CheckFiles(ctx, q, a.Execution.Resources)
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind == events.FailureCheck {
		return InputFailure(failure.Err)
	}
	if err == nil && answer.Refused != "" {
		err = InputFailure(errors.New(answer.Refused))
	}
	if err == nil && small {
		a.executor.accepted.add(key)
	}
	return err
}

// inputsQuestion names the staged inputs that are checked.
func (a *Attempt) inputsQuestion() (q modelcheck.Question, err error) {
	for _, in := range a.Execution.Inputs {
		if in.Key == transformGraph || in.Key == BaseModel {
			q.Graphs = append(q.Graphs, modelcheck.Graph{Dir: a.Workspace.In(in.Dir), Name: in.Listing.Ref.String()})
		}
	}
	if q.Schema, err = a.schemaPath(); err != nil {
		return q, InputFailure(err)
	}
	return q, nil
}

// acceptedInputs remembers which graphs and schemas a check has accepted, so that a pipeline's next
// run, which usually names the same ones, starts no process to check them again. Its keys are the
// SHA-256 of all names and bytes in the inputs' directories and of everything else that a check
// depends on. Its methods may be called by several goroutines at once.
type acceptedInputs struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
}

const (
	mostAccepted     = 4096
	mostAcceptedSize = 64 << 20 // bytes of all files; larger inputs are checked each time
)

// has reports whether inputs with this key were accepted.
func (a *acceptedInputs) has(key [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[key]
}

func (a *acceptedInputs) add(key [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= mostAccepted {
		a.known = map[[sha256.Size]byte]bool{}
	}
	a.known[key] = true
}

// keyOfInputs hashes the files of all graphs of a question, and the directory of its schema. ok is
// false if they are too large to be read twice.
func keyOfInputs(ctx context.Context, q modelcheck.Question, r pipeline.Resources) (key [sha256.Size]byte, ok bool, err error) {
	h, left := sha256.New(), int64(mostAcceptedSize)
	fmt.Fprintf(h, "%q %d %d\n", q.ExtraOps, r.Memory.Bytes(), r.Timeout.Duration())
	for _, g := range q.Graphs {
		fmt.Fprintf(h, "graph\n")
		if left, err = hashFiles(ctx, h, os.DirFS(g.Dir), left); err != nil || left < 0 {
			return key, false, err
		}
	}
	if q.Schema != "" {
		fmt.Fprintf(h, "schema %q\n", filepath.Base(q.Schema))
		if left, err = hashFiles(ctx, h, os.DirFS(filepath.Dir(q.Schema)), left); err != nil || left < 0 {
			return key, false, err
		}
	}
	h.Sum(key[:0])
	return key, true, nil
}

// hashFiles writes the name, the size and the bytes of each file to h, and returns how many bytes
// of the allowance left remain. It stops and returns a negative number if there are more, or if an
// entry is not a regular file.
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
		// Staging creates only regular files.
		if left -= info.Size(); left < 0 || !info.Mode().IsRegular() {
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
			err = fmt.Errorf("%s: it has %d bytes, expected %d", path, n, info.Size())
		}
		return err
	})
	return left, err
}
