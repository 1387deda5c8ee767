package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// File is one file of an artifact.
type File struct {
	Path   string `json:"path"`   // below the artifact's folder, slash-separated, no "..", not absolute
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // hex
	ETag   string `json:"etag"`   // as the store gave it
}

// Manifest says what one attempt at an execution left in the store. It is written after its files and before the commit.
type Manifest struct {
	Execution string            `json:"execution"` // sha256:<hex>
	Attempt   string            `json:"attempt"`
	Outputs   map[string]Output `json:"outputs"`          // by TFX output key: model, model_run, ...
	Result    json.RawMessage   `json:"result,omitempty"` // what the function wants to find again on a cache hit; opaque here
}

// Output is one artifact of an execution.
type Output struct {
	Type   string `json:"type"`   // TFX's type name: Model, ModelRun
	URI    string `json:"uri"`    // the artifact's folder
	Digest string `json:"digest"` // sha256:<hex> over path, size and SHA-256 of its files, in path order
	Files  []File `json:"files"`  // in path order
}

// Commit is the one object that makes an execution done. It is written once, by PutIf, and replaced by compare-and-swap when
// what it stands for is gone, or when it cancels a job and another job asks for the same execution. A caller that is about to publish its model
// again, and who is about to remove that, note it here first, by compare-and-swap: so that only one of the two goes on.
type Commit struct {
	Execution  string    `json:"execution"`
	Attempt    string    `json:"attempt,omitempty"`
	Generation int       `json:"generation,omitempty"` // counts the models of one execution: one more each time that one was lost
	Job        string    `json:"job,omitempty"`        // that the attempt worked on; of a cancelled one, the job that was cancelled
	Manifest   string    `json:"manifest,omitempty"`   // address of the winner's manifest; PutCommit and Recommit set it
	Cancelled  bool      `json:"cancelled,omitempty"`  // nothing will come of Job
	FoundBy    string    `json:"found_by,omitempty"`   // the last attempt that took the model for its own outcome: see Found
	Retired    bool      `json:"retired,omitempty"`    // the model is no longer kept: see Retire
	Time       time.Time `json:"time"`
	ETag       string    `json:"-"` // of commit.json itself, once it was read or written: what Recommit replaces
}

// maxDocumentBytes bounds what is read at once: a manifest of 100,000 files has some 20 MiB.
const maxDocumentBytes = 64 << 20

// ReadManifest reads and checks the manifest of one attempt. ErrNotFound if there is none.
func ReadManifest(ctx context.Context, store Store, place Place) (Manifest, error) {
	if err := place.validateAttempt(); err != nil {
		return Manifest{}, err
	}
	ref := place.Manifest()
	var m Manifest
	if _, err := readJSON(ctx, store, ref, &m); err != nil {
		return Manifest{}, err
	}
	if executionHex(m.Execution) != executionHex(place.Execution) || m.Attempt != place.Attempt {
		return Manifest{}, fmt.Errorf("manifest %s: is of execution %s, attempt %s: %w", ref, m.Execution, m.Attempt, ErrIncomplete)
	}
	for key, out := range m.Outputs {
		if err := out.validate(place.Output(key)); err != nil {
			return Manifest{}, fmt.Errorf("manifest %s: output %s: %w", ref, key, err)
		}
	}
	return m, nil
}

func (o Output) validate(folder Ref) error {
	if o.URI != folder.String() {
		return fmt.Errorf("uri is %q, expected %s: %w", o.URI, folder, ErrIncomplete)
	}
	for i, f := range o.Files {
		if err := folder.Join(f.Path).Validate(); err != nil {
			return fmt.Errorf("file %d (from 0): %w: %w", i, ErrIncomplete, withoutKind(err))
		}
	}
	if o.Digest != digestOfFiles(o.Files) {
		return fmt.Errorf("digest does not fit its files: %w", ErrIncomplete)
	}
	return nil
}

// digestOfFiles is the identity of an artifact's content, wherever it is stored. Paths hold no control characters, so that
// lines can't run into each other.
func digestOfFiles(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s\t%d\t%s\n", f.Path, f.Size, f.SHA256)
	}
	return digestPrefix + hex.EncodeToString(h.Sum(nil))
}

// readJSON reads one of Stoker's own documents and returns the object it was, also when it is ErrIncomplete.
func readJSON(ctx context.Context, store Store, ref Ref, into any) (Object, error) {
	body, obj, err := store.Open(ctx, ref, "")
	if err != nil {
		return Object{}, fmt.Errorf("read %s: %w", ref, err)
	}
	defer body.Close()
	if obj.Size > maxDocumentBytes {
		return obj, fmt.Errorf("read %s: %d bytes are more than the %d that such a document may have: %w", ref, obj.Size, maxDocumentBytes, ErrIncomplete)
	}
	data, err := io.ReadAll(io.LimitReader(body, maxDocumentBytes))
	if err != nil {
		return Object{}, fmt.Errorf("read %s: %w", ref, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return obj, fmt.Errorf("read %s: %w: %w", ref, ErrIncomplete, err) // with its ETag: what is broken can be replaced
	}
	return obj, nil
}

// writeOnce writes a document that nobody else writes. That it is there already, with the same bytes, is success: our own
// earlier try whose answer was lost.
func writeOnce(ctx context.Context, store Store, ref Ref, data []byte) error {
	_, err := store.PutIf(ctx, ref, data, Condition{IfAbsent: true})
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrPrecondition) && !errors.Is(err, ErrUnavailable) {
		return err
	}
	there, readErr := readSame(ctx, store, ref, data)
	switch {
	case errors.Is(readErr, ErrNotFound): // not written; "not found" would be said of what is written
		return fmt.Errorf("%w (%s)", err, readErr)
	case readErr != nil:
		return errors.Join(err, readErr)
	case !there:
		return fmt.Errorf("write %s: another one is there: %w", ref, err)
	}
	return nil
}

func readSame(ctx context.Context, store Store, ref Ref, want []byte) (bool, error) {
	body, _, err := store.Open(ctx, ref, "")
	if err != nil {
		return false, err
	}
	defer body.Close()
	got, err := io.ReadAll(io.LimitReader(body, int64(len(want))+1))
	return bytes.Equal(got, want), err
}
