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
	// Below the artifact's folder, slash-separated, no "..", not absolute.
	Path   string `json:"path"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // hex
	ETag   string `json:"etag"`   // as the store returned it
}

// Manifest lists the objects that one attempt at an execution left in the store. It is written
// after its files and before the commit.
type Manifest struct {
	Execution string            `json:"execution"` // sha256:<hex>
	Attempt   string            `json:"attempt"`
	Outputs   map[string]Output `json:"outputs"` // by TFX output key: model, model_run, ...
	// What the function reads back on a cache hit; opaque here.
	Result json.RawMessage `json:"result,omitempty"`
}

// Output is one artifact of an execution.
type Output struct {
	Type string `json:"type"` // TFX's type name: Model, ModelRun
	URI  string `json:"uri"`  // the artifact's folder
	// sha256:<hex> over path, size and SHA-256 of its files, in path order
	Digest string `json:"digest"`
	Files  []File `json:"files"` // in path order
}

// Commit is the one object that makes an execution done. It is written once, by PutIf, and replaced
// by compare-and-swap when its objects are gone, or when it cancels a job and another job needs the
// same execution. A caller that is about to publish its model again (Found), and one that is about
// to remove the model (Retire), first note it here by compare-and-swap, so that only one of the two
// continues.
type Commit struct {
	Execution string `json:"execution"`
	Attempt   string `json:"attempt,omitempty"`
	// Counts the models of one execution: plus one each time a model was lost.
	Generation int `json:"generation,omitempty"`
	// Of the attempt; in a commit that cancels, the cancelled job.
	Job string `json:"job,omitempty"`
	// Address of the winner's manifest; PutCommit and Recommit set it.
	Manifest  string `json:"manifest,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"` // Job has no result
	// The last attempt that used the model as its own outcome: see Found.
	FoundBy string    `json:"found_by,omitempty"`
	Retired bool      `json:"retired,omitempty"` // the model is no longer kept: see Retire
	Time    time.Time `json:"time"`
	// Of commit.json, once it was read or written: Recommit replaces this version.
	ETag string `json:"-"`
}

// maxDocumentBytes limits the size of a document that is read at once. A manifest of 100,000 files
// has about 20 MiB.
const maxDocumentBytes = 64 << 20

// ReadManifest reads and checks the manifest of one attempt. It returns ErrNotFound if there is
// none.
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
		return fmt.Errorf("digest does not match its files: %w", ErrIncomplete)
	}
	return nil
}

// digestOfFiles is the identity of an artifact's content, independent of its address. Paths hold no
// control characters, so lines can't run into each other.
func digestOfFiles(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s\t%d\t%s\n", f.Path, f.Size, f.SHA256)
	}
	return digestPrefix + hex.EncodeToString(h.Sum(nil))
}

// readJSON reads one of Stoker's own documents and returns its object, also with ErrIncomplete.
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
		// With its ETag, so that a broken document can be replaced.
		return obj, fmt.Errorf("read %s: %w: %w", ref, ErrIncomplete, err)
	}
	return obj, nil
}

// writeOnce writes a document that nobody else writes. It succeeds if the document exists already
// with the same bytes: then the answer to an earlier call was lost.
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
	case errors.Is(readErr, ErrNotFound):
		// It was not written; "not found" would refer to the document to be written.
		return fmt.Errorf("%w (%s)", err, readErr)
	case readErr != nil:
		return errors.Join(err, readErr)
	case !there:
		return fmt.Errorf("write %s: it exists with other content: %w", ref, err)
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
