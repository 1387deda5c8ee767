package trainer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// lab is a store with the penguins in it.
type lab struct {
	store storage.Store
	root  storage.Ref
	rand  *rand.Rand
}

func openLab(t *testing.T, store storage.Store, root storage.Ref, seed uint64) *lab {
	t.Helper()
	t.Logf("seed %d", seed)
	const penguins = "../../../compute/data/example/testdata/penguin/transformed_examples"
	upload(t, store, root.Join("up/tx"), penguins)
	upload(t, store, root.Join("up/graph"), "../../../compute/tf/savedmodel/testdata/penguin/transform_graph")
	return &lab{store: store, root: root, rand: rand.New(rand.NewPCG(seed, 4))}
}

func upload(t *testing.T, store storage.Store, to storage.Ref, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			_, err = storage.PutFile(t.Context(), store, to.Join(filepath.ToSlash(name)), path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// shift returns a shift of a fresh worker, with a trainer and a runner of its own. kill is the
// value of killEnv of its modules.
func (l *lab) shift(t *testing.T, store storage.Store, number int, kill string, on func(module.Message)) *shift {
	t.Helper()
	host, err := runner.New(runner.Options{Builtins: builtin.Digests(), Env: []string{childEnv + "=1", killEnv + "=" + kill, raidEnv + "=" + os.Getenv(raidEnv)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	j := job(t, "j1", "monday", longSpec)
	uri := func(name string) string { return l.root.Join("up", name).String() }
	j.Inputs = events.Inputs{TransformGraph: uri("graph"), TransformedExamples: []events.Examples{{URI: uri("tx")}}}
	return &shift{
		trainer: trainer.New(execution.New(store, tapped{host, on}, execution.Options{Root: l.root, WorkDir: t.TempDir()}), trainer.Options{}), job: j,
		attempt: events.Attempt{ID: fmt.Sprintf("attempt-%d", number), Number: number},
		prove:   func() error { return nil }, seen: func(events.Progress) {},
	}
}

// files returns the files of an event's model and its run folder, with their contents, except for
// the attempt's name.
func (l *lab) files(t *testing.T, published *events.ModelTrained) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, uri := range []string{published.Model.URI, published.ModelRun} {
		ref, err := storage.ParseRef(uri)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		staged, err := storage.StageIn(t.Context(), l.store, ref, dir, storage.StageOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range staged.Files {
			if tfevents.IsEventFile(f.Path) {
				continue
			}
			text, err := os.ReadFile(staged.Path(f.Path))
			if err != nil {
				t.Fatal(err)
			}
			all[f.Path] = string(text)
		}
		curves(t, dir, all)
	}
	return all
}

// curves adds the contents of event files except for times; which file holds which event differs
// each time.
func curves(t *testing.T, dir string, into map[string]string) {
	t.Helper()
	log, err := tfevents.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range log.Runs() {
		for _, series := range run.Series() {
			for _, p := range series.Points {
				into["curve "+run.Name+" "+series.Tag] += fmt.Sprintln(p.Step, p.Scalar, p.Buckets, p.Text)
			}
		}
		if run.Session != nil {
			into["session of "+run.Name] = fmt.Sprintln(run.Session.Group, run.Session.Values, run.End.Status)
		}
	}
}

// pointed is a store that reports each checkpoint, by its step, once it can be found.
type pointed struct {
	storage.Store
	saved func(step int)
}

func (p pointed) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	obj, err := p.Store.PutIf(ctx, ref, body, cond)
	var pointer struct{ Checkpoints []storage.Checkpoint }
	if err == nil && strings.HasSuffix(ref.Key, "/checkpoint.json") && json.Unmarshal(body, &pointer) == nil {
		p.saved(pointer.Checkpoints[0].Step)
	}
	return obj, err
}
