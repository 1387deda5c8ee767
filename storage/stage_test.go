package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

var root = storage.Ref{Bucket: "artifacts"}

// holding returns a store with files in it, content by key.
func holding(t *testing.T, files map[string]string) *storagetest.Memory {
	t.Helper()
	store := storagetest.NewMemory()
	for key, content := range files {
		put(t, store, root.Join(key), content)
	}
	return store
}

func put(t *testing.T, store storage.Store, ref storage.Ref, content string) storage.Object {
	t.Helper()
	o, err := store.Put(t.Context(), ref, strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// tree returns the files below dir, with their content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if entry.IsDir() {
			files[filepath.ToSlash(name)+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func examples(t *testing.T) *storagetest.Memory {
	return holding(t, map[string]string{
		"examples/Split-train/data-0": "train 0", "examples/Split-train/data-1": "train 1", "examples/Split-eval/data-0": "eval",
		"examples-2/other": "not of it", "schema/schema.pbtxt": "schema",
	})
}

func TestStageInCopiesAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	store := holding(t, map[string]string{"examples/Split-train/data-0": "train 0", "examples/Split-eval/data-0": "eval", "examples-2/x": "x"})
	staged, err := storage.StageIn(t.Context(), store, root.Join("examples"), dir, storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := tree(t, dir)
	if len(got) != 4 || got["Split-train/data-0"] != "train 0" || got["Split-eval/data-0"] != "eval" {
		t.Errorf("got %q", got)
	}
	// The four letters.
	const evalSum = "1bbd174404efbce95f1af489ef93f4aa0f4d55718f24c3504682216afa7b7fb1"
	f := staged.Files[0]
	if len(staged.Files) != 2 || f.Path != "Split-eval/data-0" || f.Size != 4 || f.ETag == "" || f.SHA256 != evalSum {
		t.Errorf("staged %+v", staged.Files)
	}
	l, err := storage.List(t.Context(), store, root.Join("examples/"))
	if err != nil || l.Digest != staged.Digest || l.Size() != 11 {
		t.Errorf("listing has %+v, staged has %s (%v)", l, staged.Digest, err)
	}
}

func TestStageInCopiesASingleObject(t *testing.T) {
	t.Parallel()
	store, dir := holding(t, map[string]string{"schema/schema.pbtxt": "schema"}), t.TempDir()
	staged, err := storage.StageIn(t.Context(), store, root.Join("schema/schema.pbtxt"), dir, storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(staged.Path(staged.Files[0].Path))
	if err != nil || string(data) != "schema" || len(tree(t, dir)) != 1 {
		t.Errorf("%q, %v", data, err)
	}
}

func TestListNamesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	store := holding(t, map[string]string{"other/x": "x"})
	for _, key := range []string{"examples", "examples/", "oth", "other/x/"} {
		_, err := storage.List(t.Context(), store, root.Join(key))
		if !errors.Is(err, storage.ErrNotFound) || !strings.Contains(err.Error(), root.Join(key).String()) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// foreign has keys in its listings that Stoker's own stores would not write. A trailing "=" marks
// the key of an empty object.
type foreign struct {
	*storagetest.Memory
	keys []string
}

func (f foreign) List(context.Context, storage.Ref) iter.Seq2[storage.Object, error] {
	return func(yield func(storage.Object, error) bool) {
		for _, key := range f.keys {
			name, empty := strings.CutSuffix(key, "=")
			size := int64(1)
			if empty {
				size = 0
			}
			if !yield(storage.Object{Ref: storage.Ref{Bucket: root.Bucket, Key: name}, Size: size, ETag: "e"}, nil) {
				return
			}
		}
	}
}

func TestStageInRefusesKeysThatLeadOutByName(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"in/../../out", "in//etc/passwd", "in/a\x00b", "in/a\nb", "in/.", "in/full/", "elsewhere", "in/\xff"} {
		dir := t.TempDir()
		_, err := storage.StageIn(t.Context(), foreign{storagetest.NewMemory(), []string{key}}, root.Join("in"), dir, storage.StageOptions{})
		if !errors.Is(err, storage.ErrBadRef) || !strings.Contains(err.Error(), strings.Trim(fmt.Sprintf("%q", key), `"`)) {
			t.Errorf("%q: %v", key, err)
		}
		if got := tree(t, dir); len(got) > 0 {
			t.Errorf("%q: left %q", key, got)
		}
	}
}

func TestFolderMarkersOfOtherToolsAreNoFiles(t *testing.T) {
	t.Parallel()
	store := foreign{storagetest.NewMemory(), []string{"in/=", "in/Split-train/=", "in/Split-train/data"}}
	l, err := storage.List(t.Context(), store, root.Join("in"))
	if err != nil || len(l.Files) != 1 || l.Files[0].Path != "Split-train/data" {
		t.Errorf("listed %+v, %v", l.Files, err)
	}
	store.keys = store.keys[:2]
	if _, err := storage.List(t.Context(), store, root.Join("in")); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a folder of markers: %v", err)
	}
}

func TestStageInNeverWritesThroughALink(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "Split-train")); err != nil {
		t.Fatal(err)
	}
	_, err := storage.StageIn(t.Context(), examples(t), root.Join("examples"), dir, storage.StageOptions{})
	if err == nil {
		t.Error("staged")
	}
	if got := tree(t, outside); len(got) > 0 {
		t.Errorf("wrote %q outside", got)
	}
}

func TestStageInLeavesNothingAfterAnError(t *testing.T) {
	t.Parallel()
	reset := storagetest.Fault{ResetAt: 3}
	truncated := storagetest.Fault{TruncateAt: 3}
	for name, tc := range map[string]struct {
		fault storagetest.Fault
		want  error
	}{
		"stream reset":     {reset, storage.ErrUnavailable},
		"stream truncated": {truncated, nil},
		"denied":           {storagetest.Fault{Refuse: storage.ErrDenied}, storage.ErrDenied},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		store := storagetest.Faulty(holding(t, map[string]string{"in/a/b": "aaaaa", "in/c": "ccccc", "in/d": "ddddd"}), storagetest.Nth(storagetest.OpOpen, 2, tc.fault))
		_, err := storage.StageIn(t.Context(), store, root.Join("in"), dir, storage.StageOptions{})
		if err == nil || (tc.want != nil && !errors.Is(err, tc.want)) || !strings.Contains(err.Error(), root.Join("in").String()) {
			t.Errorf("%s: %v", name, err)
		}
		if got := tree(t, dir); len(got) != 1 {
			t.Errorf("%s: left %q", name, got)
		}
	}
}

// changing replaces an object after the first listing.
func changing(t *testing.T, store *storagetest.Memory, key string, times int) storage.Store {
	return storagetest.Faulty(store, func(c storagetest.Call) storagetest.Fault {
		if c.Op == storagetest.OpOpen && c.Ref == root.Join(key) && times > 0 {
			times--
			put(t, store, root.Join(key), strings.Repeat("changed", times+1))
		}
		return storagetest.Fault{}
	})
}

func TestStageInStartsOverWhenTheArtifactChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mem := holding(t, map[string]string{"in/a": "first", "in/b": "b"})
	staged, err := storage.StageIn(t.Context(), changing(t, mem, "in/a", 2), root.Join("in"), dir, storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now, err := storage.List(t.Context(), mem, root.Join("in"))
	if err != nil || now.Digest != staged.Digest || tree(t, dir)["a"] != "changed" {
		t.Errorf("staged %+v as %q, now it is %+v (%v)", staged, tree(t, dir), now, err)
	}
}

func TestStageInGivesUpOnWhatChangesAllTheTime(t *testing.T) {
	t.Parallel()
	mem := holding(t, map[string]string{"in/a": "first", "in/b": "b"})
	_, err := storage.StageIn(t.Context(), changing(t, mem, "in/a", 100), root.Join("in"), t.TempDir(), storage.StageOptions{})
	if !errors.Is(err, storage.ErrChanged) {
		t.Error(err)
	}
}

func TestStageInOfAListingTakesNoOtherVersion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*storagetest.Memory) error{
		"replaced": func(m *storagetest.Memory) error { put(t, m, root.Join("in/a"), "xxxxx"); return nil },
		"deleted":  func(m *storagetest.Memory) error { return m.Delete(t.Context(), root.Join("in/a")) },
	} {
		mem := holding(t, map[string]string{"in/a": "first", "in/b": "b"})
		l, err := storage.List(t.Context(), mem, root.Join("in"))
		if err != nil {
			t.Fatal(err)
		}
		if err := change(mem); err != nil {
			t.Fatal(err)
		}
		_, err = storage.StageIn(t.Context(), mem, root.Join("in"), t.TempDir(), storage.StageOptions{Listing: &l})
		if !errors.Is(err, storage.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStageInStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	store := storagetest.Faulty(examples(t), func(c storagetest.Call) storagetest.Fault {
		if c.Op == storagetest.OpOpen {
			cancel()
		}
		return storagetest.Fault{}
	})
	dir := t.TempDir()
	_, err := storage.StageIn(ctx, store, root.Join("examples"), dir, storage.StageOptions{})
	if !errors.Is(err, context.Canceled) || len(tree(t, dir)) > 0 {
		t.Errorf("%v, left %q", err, tree(t, dir))
	}
}

func TestDigestOfAListingChangesWithKeySizeAndETagOnly(t *testing.T) {
	t.Parallel()
	digest := func(files map[string]string) string {
		l, err := storage.List(t.Context(), holding(t, files), root.Join("in"))
		if err != nil {
			t.Fatal(err)
		}
		return l.Digest
	}
	first := digest(map[string]string{"in/a": "1", "in/b/c": "2"})
	if again := digest(map[string]string{"in/a": "1", "in/b/c": "2", "in2/x": "x"}); again != first {
		t.Error("same listing, other digest")
	}
	others := []string{
		digest(map[string]string{"in/a": "2", "in/b/c": "2"}),
		digest(map[string]string{"in/a": "1", "in/b/d": "2"}),
		digest(map[string]string{"in/a": "1"}),
		first,
	}
	slices.Sort(others)
	if len(slices.Compact(others)) != 4 {
		t.Errorf("digests collide: %q", others)
	}
}
