package storage_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

var trainer = root.Join("penguin/Trainer")

var execution = "sha256:" + strings.Repeat("0123456789abcdef", 4)

// folder writes files, content by path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func publication(t *testing.T, attempt string) storage.Publication {
	t.Helper()
	model := folder(t, map[string]string{
		"Format-Serving/saved_model.pb": "graph", "Format-Serving/variables/variables.index": "index",
		"Format-Serving/variables/variables.data-00000-of-00001": "data of " + attempt, "Format-Serving/assets/vocab": "",
	})
	run := folder(t, map[string]string{"events.out.tfevents.1": "events"})
	return storage.Publication{Root: trainer, Execution: execution, Attempt: attempt, Outputs: map[string]storage.Source{
		"model": {Type: "Model", Dir: model}, "model_run": {Type: "ModelRun", Dir: run},
	}}
}

func publish(t *testing.T, store storage.Store, p storage.Publication) storage.Manifest {
	t.Helper()
	m, err := storage.Publish(t.Context(), store, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPublishLaysThingsOutAsPromised(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	m := publish(t, store, publication(t, "a1"))
	hex := strings.TrimPrefix(execution, "sha256:")
	want := []string{
		"penguin/Trainer/.system/" + hex + "/a1/manifest.json",
		"penguin/Trainer/model/" + hex + "/a1/Format-Serving/assets/vocab",
		"penguin/Trainer/model/" + hex + "/a1/Format-Serving/saved_model.pb",
		"penguin/Trainer/model/" + hex + "/a1/Format-Serving/variables/variables.data-00000-of-00001",
		"penguin/Trainer/model/" + hex + "/a1/Format-Serving/variables/variables.index",
		"penguin/Trainer/model_run/" + hex + "/a1/events.out.tfevents.1",
	}
	if got := keys(t, store); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if uri := m.Outputs["model"].URI; uri != "s3://artifacts/penguin/Trainer/model/"+hex+"/a1" {
		t.Errorf("uri is %s", uri)
	}
	read, err := storage.ReadManifest(t.Context(), store, publication(t, "a1").Place())
	if err != nil || read.Outputs["model"].Digest != m.Outputs["model"].Digest || len(read.Outputs["model"].Files) != 4 {
		t.Errorf("read back %+v, %v", read, err)
	}
}

func keys(t *testing.T, store storage.Store) (keys []string) {
	t.Helper()
	for o, err := range store.List(t.Context(), root) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Ref.Key)
	}
	return keys
}

func TestAPublishedArtifactIsStagedByItsManifest(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	m := publish(t, store, publication(t, "a1"))
	uri, err := storage.ParseRef(m.Outputs["model"].URI)
	if err != nil {
		t.Fatal(err)
	}
	put(t, store, uri.Join("stray"), "not in the manifest")
	dir := t.TempDir()
	staged, err := storage.StageIn(t.Context(), store, uri, dir, storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if staged.Digest != m.Outputs["model"].Digest || tree(t, dir)["Format-Serving/saved_model.pb"] != "graph" || len(staged.Files) != 4 {
		t.Errorf("staged %+v", staged)
	}
	if _, ok := tree(t, dir)["stray"]; ok {
		t.Error("staged what the manifest does not name")
	}
}

func TestTheDigestIsOfTheContentAlone(t *testing.T) {
	t.Parallel()
	p := publication(t, "a1")
	first := publish(t, storagetest.NewMemory(), p)
	p.Attempt, p.Root = "a2", root.Join("elsewhere")
	second := publish(t, storagetest.NewMemory(), p)
	if first.Outputs["model"].Digest != second.Outputs["model"].Digest {
		t.Error("same files, other digest")
	}
	third := publish(t, storagetest.NewMemory(), publication(t, "a3"))
	if first.Outputs["model"].Digest == third.Outputs["model"].Digest {
		t.Error("other files, same digest")
	}
}

func TestStageInFindsRottenBytes(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	m := publish(t, store, publication(t, "a1"))
	uri, _ := storage.ParseRef(m.Outputs["model"].URI)
	rotten := storagetest.Faulty(store, func(c storagetest.Call) storagetest.Fault {
		if path.Base(c.Ref.Key) == "saved_model.pb" {
			return storagetest.Fault{FlipAt: 3}
		}
		return storagetest.Fault{}
	})
	dir := t.TempDir()
	_, err := storage.StageIn(t.Context(), rotten, uri, dir, storage.StageOptions{})
	if !errors.Is(err, storage.ErrIncomplete) || !strings.Contains(err.Error(), "saved_model.pb") || len(tree(t, dir)) > 0 {
		t.Errorf("%v, left %q", err, tree(t, dir))
	}
}

func TestListFindsAnArtifactThatIsNotWholeAnyMore(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(storage.Store, storage.Ref) error{
		"gone": func(s storage.Store, ref storage.Ref) error { return s.Delete(t.Context(), ref) },
		"of another size": func(s storage.Store, ref storage.Ref) error {
			put(t, s, ref, "longer than it was")
			return nil
		},
	} {
		store := storagetest.NewMemory()
		m := publish(t, store, publication(t, "a1"))
		if err := spoil(store, file(m)); err != nil {
			t.Fatal(err)
		}
		uri, _ := storage.ParseRef(m.Outputs["model"].URI)
		_, err := storage.List(t.Context(), store, uri)
		if !errors.Is(err, storage.ErrIncomplete) || !strings.Contains(err.Error(), "saved_model.pb") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// order records the order in which objects are put.
type order struct {
	storage.Store
	mu   sync.Mutex
	keys []string
}

func (o *order) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (storage.Object, error) {
	obj, err := o.Store.Put(ctx, ref, body, size)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keys = append(o.keys, ref.Key)
	return obj, err
}

func TestSavedModelGoesLastInItsFolder(t *testing.T) {
	t.Parallel()
	store := &order{Store: storagetest.NewMemory()}
	p := publication(t, "a1")
	delete(p.Outputs, "model_run")
	publish(t, store, p)
	if last := store.keys[len(store.keys)-1]; path.Base(last) != "saved_model.pb" {
		t.Errorf("last is %s", last)
	}
}

// wire is a connection that breaks in the middle of the first transfer; the store rewinds the body
// and sends it again.
type wire struct{ *storagetest.Memory }

func (w wire) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (storage.Object, error) {
	if _, err := io.CopyN(io.Discard, body, size/2); err != nil {
		return storage.Object{}, err
	}
	if _, err := body.(io.Seeker).Seek(0, io.SeekStart); err != nil {
		return storage.Object{}, err
	}
	return w.Memory.Put(ctx, ref, body, size)
}

func TestTheHashSurvivesAStoreThatSendsAgain(t *testing.T) {
	t.Parallel()
	p := publication(t, "a1")
	straight := publish(t, storagetest.NewMemory(), p)
	if again := publish(t, wire{storagetest.NewMemory()}, p); again.Outputs["model"].Digest != straight.Outputs["model"].Digest {
		t.Error("digest differs")
	}
}

func TestPublishFollowsLinksInsideAndRefusesThoseThatLeadOut(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"real": "content"})
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	p := storage.Publication{Root: trainer, Execution: execution, Attempt: "a1", Outputs: map[string]storage.Source{"model": {Type: "Model", Dir: dir}}}
	if m := publish(t, storagetest.NewMemory(), p); len(m.Outputs["model"].Files) != 2 {
		t.Errorf("published %+v", m)
	}
	secret := folder(t, map[string]string{"secret": "s"})
	if err := os.Symlink(filepath.Join(secret, "secret"), filepath.Join(dir, "way-out")); err != nil {
		t.Fatal(err)
	}
	store := storagetest.NewMemory()
	if _, err := storage.Publish(t.Context(), store, p); err == nil || !strings.Contains(err.Error(), "way-out") || keys(t, store) != nil {
		t.Errorf("%v, left %q", err, keys(t, store))
	}
}

func TestPublishLeavesNoManifestAfterAnError(t *testing.T) {
	t.Parallel()
	mem := storagetest.NewMemory()
	store := storagetest.Faulty(mem, func(c storagetest.Call) storagetest.Fault {
		if c.Op == storagetest.OpPut && path.Base(c.Ref.Key) == "saved_model.pb" {
			return storagetest.Fault{ResetAt: 2}
		}
		return storagetest.Fault{}
	})
	if _, err := storage.Publish(t.Context(), store, publication(t, "a1")); !errors.Is(err, storage.ErrUnavailable) {
		t.Error(err)
	}
	for _, key := range keys(t, mem) {
		if path.Base(key) == "manifest.json" {
			t.Errorf("left %s", key)
		}
	}
}

func TestPublishingAgainIsSuccessAndPublishingOtherThingsIsNot(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	p := publication(t, "a1")
	publish(t, storagetest.Faulty(store, storagetest.Nth(storagetest.OpPutIf, 0, storagetest.Fault{LoseAnswer: true})), p)
	publish(t, store, p)
	p.Outputs["model"] = storage.Source{Type: "Model", Dir: folder(t, map[string]string{"other": "x"})}
	if _, err := storage.Publish(t.Context(), store, p); !errors.Is(err, storage.ErrPrecondition) {
		t.Error(err)
	}
}

func TestAManifestThatWasNotWrittenIsUnavailableNotMissing(t *testing.T) {
	t.Parallel()
	refuse := storagetest.Fault{Refuse: storage.ErrUnavailable}
	store := storagetest.Faulty(storagetest.NewMemory(), storagetest.Nth(storagetest.OpPutIf, 0, refuse))
	_, err := storage.Publish(t.Context(), store, publication(t, "a1"))
	if !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrNotFound) {
		t.Error(err)
	}
}

func TestPublishRefusesBadNames(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*storage.Publication){
		"execution":  func(p *storage.Publication) { p.Execution = "sha256:123" },
		"attempt":    func(p *storage.Publication) { p.Attempt = "../a1" },
		"no attempt": func(p *storage.Publication) { p.Attempt = "" },
		"output":     func(p *storage.Publication) { p.Outputs[".system"] = p.Outputs["model"] },
		"root":       func(p *storage.Publication) { p.Root = storage.Ref{Bucket: "artifacts", Key: "../x"} },
		"folder":     func(p *storage.Publication) { p.Outputs["model"] = storage.Source{Dir: "does-not-exist"} },
	} {
		p := publication(t, "a1")
		spoil(&p)
		if _, err := storage.Publish(t.Context(), storagetest.NewMemory(), p); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
