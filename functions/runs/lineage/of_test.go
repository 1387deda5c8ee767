package lineage_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestAModelIsFoundByWhatPeopleCallIt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	older, _ := w.trained("monday", 0xa1, w.input)
	newer, _ := w.trained("tuesday", 0xa2, w.input)
	for ref, want := range map[string]events.Artifact{
		"penguin": newer, "penguin/monday": older, older.URI: older, older.URI + "/": older, older.Digest: older,
		strings.TrimPrefix(newer.Digest, "sha256:")[:12]: newer, hexed(0xa1): older,
	} {
		g := w.of(ref, nil)
		target, there := g.Node(g.Target)
		if !there || target.URI != want.URI || target.Digest != want.Digest || target.State != lineage.Same || len(g.Differing()) > 0 {
			t.Errorf("%s: %+v, want %+v", ref, target, want)
		}
	}
	for _, ref := range []string{"taxi", "penguin/never", hexed(0xa3), graph.String(), "s3://bkt", "?"} {
		if g, err := lineage.Of(t.Context(), w.bus, w.store, ref, nil); err == nil {
			t.Errorf("%s: %+v", ref, g)
		} else if ref != "s3://bkt" && !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestWhatHasBecomeOfAnInputIsSaid(t *testing.T) {
	t.Parallel()
	for state, spoil := range map[lineage.State]func(w *world){
		lineage.Same:    func(*world) {},
		lineage.Changed: func(w *world) { w.put(graph.Join("saved_model.pb"), "another") },
		lineage.Gone: func(w *world) {
			if err := w.store.Delete(w.Context(), graph.Join("saved_model.pb")); err != nil {
				w.Fatal(err)
			}
		},
	} {
		w := setup(t)
		w.trained("monday", 0xa1, w.input)
		spoil(w)
		g := w.of("penguin", nil)
		n := w.one(g, lineage.TransformGraph)
		if n.State != state || n.Digest != w.input.Digest || (n.Why == "") != (state == lineage.Same) {
			t.Errorf("want %s, got %+v", state, n)
		}
		if state == lineage.Changed && n.Found != w.digest(graph) {
			t.Errorf("found %s", n.Found)
		}
		if differing := g.Differing(); (len(differing) == 1) != (state != lineage.Same) {
			t.Errorf("%s: %+v differ", state, differing)
		}
		if strings.Contains(g.Tree(command), strings.ToUpper(string(state))) != (state != lineage.Same) {
			t.Errorf("%s: %s", state, g.Tree(command))
		}
		if n := w.one(w.of("penguin", &lineage.Options{Unverified: true}), lineage.TransformGraph); n.State != "" {
			t.Errorf("unverified: %+v", n)
		}
	}
}

// A store that does not answer is an error: no artifact counts as gone because of it. A refusal is
// reported.
func TestAStoreThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.trained("monday", 0xa1, w.input)
	for err, state := range map[error]lineage.State{storage.ErrUnavailable: "", storage.ErrDenied: lineage.Unread} {
		store := storagetest.Faulty(w.store, func(c storagetest.Call) storagetest.Fault {
			if c.Op == storagetest.OpList && strings.HasPrefix(c.Ref.Key, graph.Key) {
				return storagetest.Fault{Refuse: err}
			}
			return storagetest.Fault{}
		})
		g, got := lineage.Of(t.Context(), w.bus, store, "penguin", nil)
		if state == "" && !errors.Is(got, err) {
			t.Errorf("%v: %+v, %v", err, g, got)
		}
		if state != "" && (got != nil || w.one(g, lineage.TransformGraph).State != state) {
			t.Errorf("%v: %+v, %v", err, g, got)
		}
	}
}

// The event replaces a lost manifest; if both are gone, the graph says so.
func TestALostManifestIsMadeUpForByTheEvent(t *testing.T) {
	t.Parallel()
	w := setup(t)
	model, place := w.trained("monday", 0xa1, w.input)
	if err := w.store.Delete(t.Context(), place.Manifest()); err != nil {
		t.Fatal(err)
	}
	if g := w.of("penguin", nil); w.one(g, lineage.TransformGraph).State != lineage.Same || w.one(g, lineage.Module).Digest != "builtin:dnn@1" {
		t.Errorf("by the event: %+v", g.Nodes)
	}
	nothing := bustest.NewMemory(time.Minute)
	defer nothing.Close()
	g, err := lineage.Of(t.Context(), nothing, w.store, model.URI, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.one(g, lineage.Model); len(g.Nodes) != 1 || !n.More || !strings.Contains(n.Why, "no record") {
		t.Errorf("by nothing: %+v", g.Nodes)
	}
}

func TestBaseModelsAreFollowedAsFarAsAsked(t *testing.T) {
	t.Parallel()
	w := setup(t)
	first, _ := w.trained("monday", 0xa1, w.input)
	second, _ := w.trained("tuesday", 0xa2, w.input, first)
	third, _ := w.trained("wednesday", 0xa3, w.input, second)
	for depth, want := range map[int][]events.Artifact{0: {third, second, first}, 1: {third, second}, 2: {third, second, first}, 9: {third, second, first}} {
		g := w.of("penguin", &lineage.Options{Depth: depth})
		models := kindsOf(g, lineage.Model)
		if len(models) != len(want) {
			t.Errorf("depth %d: %+v", depth, models)
			continue
		}
		for i, n := range models {
			if more := depth == i && depth > 0; n.URI != want[i].URI || n.More != more || (n.Run == "") != more {
				t.Errorf("depth %d, model %d: %+v", depth, i, n)
			}
			if i > 0 && !hasEdge(g, lineage.Edge{From: n.ID, To: models[i-1].ID, Role: lineage.BaseModel}) {
				t.Errorf("depth %d: nothing leads from model %d to the next: %+v", depth, i, g.Edges)
			}
		}
		if into := g.Into(w.one(g, lineage.TransformGraph).ID); len(into) > 0 {
			t.Errorf("%+v made the graph", into)
		}
	}
}

// readBus notes what is read of its log.
type readBus struct {
	events.Bus
	queries []events.Query
}

func (b *readBus) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	b.queries = append(b.queries, q)
	return b.Bus.Read(ctx, q)
}

func TestOnlyEventsOfAKnownMakerAreRead(t *testing.T) {
	t.Parallel()
	w := setup(t)
	base, _ := w.trained("monday", 0xa1, w.input)
	w.trained("tuesday", 0xa2, w.input, base)
	want := w.of("penguin/tuesday", nil)
	for name, maker := range map[string]string{"known": "monday", "wrong": "tuesday", "gone": "sunday"} {
		bus := &readBus{Bus: w.bus}
		makerOf := func(execution string) (runs.Key, bool) {
			return runs.Key{Pipeline: "penguin", Run: maker}, execution == hexed(0xa1)
		}
		got, err := lineage.Of(t.Context(), bus, w.store, "penguin/tuesday", &lineage.Options{MakerOf: makerOf})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, got %+v, want %+v", name, err, got, want)
		}
		whole := slices.ContainsFunc(bus.queries, func(q events.Query) bool { return q.Run == "" })
		if whole != (name != "known") {
			t.Errorf("%s: it read %+v", name, bus.queries)
		}
	}
}

func TestTunedHyperparametersLeadToTheirTrials(t *testing.T) {
	t.Parallel()
	w := setup(t)
	execution := hexed(0xb1)
	study := events.Study{Pipeline: "penguin", ID: strings.TrimPrefix(execution, "sha256:")}
	w.search(study, 3)
	best, _ := w.made("Tuner", "best_hyperparameters", "HyperParameters", execution, map[string]any{
		"inputs": []events.Artifact{w.input}, "module": "builtin:dnn@1", "values": map[string]any{"units": 8}, "study": study.ID, "best": "0001", "trials": 3,
	})
	w.trained("monday", 0xa1, w.input, best)
	for all, want := range map[bool]int{false: 1, true: 3} {
		g := w.of("penguin", &lineage.Options{Trials: all})
		hparams, search, trials := w.one(g, lineage.Hyperparameters), w.one(g, lineage.Search), kindsOf(g, lineage.Trial)
		if fmt.Sprint(hparams.Values) != "map[units:8]" || search.Trials != 3 || search.Execution != execution {
			t.Errorf("%+v of %+v", hparams, search)
		}
		if !hasEdge(g, lineage.Edge{From: search.ID, To: hparams.ID, Role: lineage.Search}) || len(trials) != want || !all && trials[0].Name != "0001" {
			t.Errorf("all %t: %+v", all, trials)
		}
		for _, n := range trials {
			if !hasEdge(g, lineage.Edge{From: n.ID, To: search.ID, Role: lineage.Trial}) || n.Status != "COMPLETED" || n.Metrics["loss"] == 0 {
				t.Errorf("%+v", n)
			}
		}
		// the search and the training read the same graph, which is one node
		if into := w.one(g, lineage.TransformGraph).ID; !hasEdge(g, lineage.Edge{From: into, To: search.ID, Role: lineage.TransformGraph}) ||
			!hasEdge(g, lineage.Edge{From: into, To: g.Target, Role: lineage.TransformGraph}) {
			t.Errorf("%+v", g.Edges)
		}
	}
}

func TestAModelSaysItsConfigurationWithoutSecrets(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.trained("monday", 0xa1, w.input)
	w.pinned("monday", `{"pipeline": "penguin", "module": "m.py", "trainer": {"custom_config": {"db_password": "hunter2", "units": 8}}}`)
	n, _ := w.of("penguin", nil).Node(w.of("penguin", nil).Target)
	text := string(n.Configuration)
	if n.Revision != 2 || !strings.Contains(text, `"units":8`) || !strings.Contains(text, `"expire_after"`) || strings.Contains(text, "hunter2") {
		t.Errorf("revision %d: %s", n.Revision, text)
	}
}

// What is known of a run is read from the log once.
func TestTheEventsOfARunAreReadOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.trained("monday", 0xa1, w.input)
	bus := &readBus{Bus: w.bus}
	if _, err := lineage.Of(t.Context(), bus, w.store, "penguin/monday", nil); err != nil || len(bus.queries) != 1 {
		t.Errorf("it read %+v, error %v", bus.queries, err)
	}
}
