package replay_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// chained is a pipeline whose runs start from one another's models.
const chained = `
pipeline: penguin
module: ./mine
trainer:
  wait_for: [transform]
  train_args: {num_steps: 1}
  hyperparameters: none
  base_model: latest
`

// plain is a pipeline whose runs don't.
const plain = `
pipeline: penguin
module: ./mine
trainer:
  wait_for: [transform]
  train_args: {num_steps: 1}
  hyperparameters: none
`

var root = storage.Ref{Bucket: "stoker"}

// world is a bus and a store with a dispatcher and a worker, in a synctest bubble.
type world struct {
	t     *testing.T
	bus   *bustest.Memory
	store *storagetest.Memory
	d     *dispatch.Dispatcher

	mu      sync.Mutex
	trained []string // runs, once for each model made
	jobs    int
	broken  map[string]bool // runs whose training fails
}

func inWorld(t *testing.T, pipelineFile string, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, bus: bustest.NewMemory(0), store: storagetest.NewMemory(), broken: map[string]bool{}}
		p, err := pipeline.Parse("penguin.yaml", []byte(pipelineFile))
		w.check(err)
		_, _, err = dispatch.Apply(t.Context(), w.bus, p)
		w.check(err)
		w.d, err = dispatch.New(t.Context(), w.bus, nil)
		w.check(err)
		test(t, w)
	})
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// ready publishes that the transform of a run is ready.
func (w *world) ready(run string) {
	w.t.Helper()
	w.publish(events.Event{ID: run, Source: "/up", Pipeline: "penguin", Run: run, Data: &events.TransformReady{TransformGraph: "s3://inputs/" + run}})
}

func (w *world) publish(event events.Event) {
	w.t.Helper()
	_, err := w.bus.Publish(w.t.Context(), event)
	w.check(err)
}

// settle dispatches and trains until nothing is left to do.
func (w *world) settle() {
	w.t.Helper()
	for again := true; again; {
		err := w.d.Next(w.t.Context(), 0)
		again = err == nil
		if err != nil && !errors.Is(err, events.ErrEmpty) {
			w.t.Fatal(err)
		}
		again = w.work(w.t.Context()) || again
	}
}

// work does one job; false if there is none.
func (w *world) work(ctx context.Context) bool {
	claim, err := w.bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, 0)
	if errors.Is(err, events.ErrEmpty) {
		claim, err = w.bus.Claim(ctx, events.FunctionTune, []string{"cpu"}, 0)
	}
	if errors.Is(err, events.ErrEmpty) {
		return false
	}
	w.check(err)
	job, err := claim.Job()
	w.check(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs++
	do := w.train
	if job.Function == events.FunctionTune {
		do = w.tune
	}
	event, err := do(ctx, job, claim.Attempt())
	if err != nil {
		failure := &events.Failure{Kind: events.FailureInput, Err: err}
		w.check(w.bus.DeadLetter(ctx, events.DeadLetter{Message: claim.Message(), Reason: failure.Reason()}))
		w.publish(events.NewJobFailed(job, claim.Attempt(), failure))
		w.check(claim.Term(ctx, failure.Reason()))
		return true
	}
	w.publish(event)
	w.check(claim.Ack(ctx))
	return true
}

// train does what the trainer does, with a model derived from the job's inputs.
func (w *world) train(ctx context.Context, job events.Job, attempt events.Attempt) (events.Event, error) {
	if w.broken[job.Run] {
		return events.Event{}, errors.New("it raised")
	}
	inputs, err := w.tunedBy(ctx, job)
	if err != nil {
		return events.Event{}, err
	}
	base := ""
	if uri := job.Inputs.BaseModel; uri != "" {
		ref, err := storage.ParseRef(uri)
		w.check(err)
		ref, err = storage.Resolve(ctx, w.store, ref)
		w.check(err)
		if _, err := storage.List(ctx, w.store, ref); err != nil {
			return events.Event{}, err
		}
		place, _ := storage.PlaceOf(ref)
		base = place.Execution
	}
	identity := fmt.Sprint(job.Inputs.TransformGraph, " ", job.Salt, " ", base)
	execution := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(identity)))
	trainer := root.Join(job.Pipeline, "Trainer")
	commit, manifest, err := storage.Committed(ctx, w.store, trainer, execution)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrIncomplete) || commit.Generation < job.Generation {
		commit, manifest = w.make(ctx, job, attempt, execution, identity, commit)
	} else {
		w.check(err)
	}
	model := manifest.Outputs["model"]
	return events.NewModelTrained(job, &events.ModelTrained{
		Model:     events.Model{URI: model.URI, Digest: model.Digest, Formats: []string{"Format-Serving"}},
		Execution: execution, Generation: commit.Generation, Inputs: inputs, Module: "m", BaseModel: job.Inputs.BaseModel,
	}), nil
}

func (w *world) make(ctx context.Context, job events.Job, attempt events.Attempt, execution, content string, before storage.Commit) (storage.Commit, storage.Manifest) {
	w.trained = append(w.trained, job.Run)
	dir := w.t.TempDir()
	w.check(os.WriteFile(filepath.Join(dir, "saved_model.pb"), []byte(content), 0o600))
	next := storage.Commit{Execution: execution, Attempt: attempt.ID, Job: job.ID, Generation: job.Generation}
	trainer := root.Join(job.Pipeline, "Trainer")
	manifest, err := storage.Publish(ctx, w.store, storage.Publication{
		Root: trainer, Execution: execution, Attempt: attempt.ID, Outputs: map[string]storage.Source{"model": {Type: "Model", Dir: dir}},
	})
	w.check(err)
	if before.ETag == "" {
		_, _, err = storage.PutCommit(ctx, w.store, trainer, next)
	} else {
		next.Generation = max(next.Generation, before.Generation+1)
		_, _, err = storage.Recommit(ctx, w.store, trainer, before, next)
	}
	w.check(err)
	return next, manifest
}

// wipe removes everything that was made.
func (w *world) wipe() {
	w.t.Helper()
	for object, err := range w.store.List(w.t.Context(), root) {
		w.check(err)
		w.check(w.store.Delete(w.t.Context(), object.Ref))
	}
}

// forget loses the bucket of joins.
func (w *world) forget() {
	w.t.Helper()
	joins, err := w.bus.KV(w.t.Context(), events.KVJoins)
	w.check(err)
	for entry, err := range joins.All(w.t.Context()) {
		w.check(err)
		w.check(joins.Delete(w.t.Context(), entry.Key, entry.Revision))
	}
}

func (w *world) survey(opts replay.Options) replay.Plan {
	w.t.Helper()
	r, err := replay.New(w.t.Context(), w.bus, w.store, nil)
	w.check(err)
	plan, err := r.Survey(w.t.Context(), opts)
	w.check(err)
	return plan
}

// replay surveys and does, with a worker running, and returns "run did" for everything that
// happened.
func (w *world) replay(opts replay.Options) []string {
	w.t.Helper()
	r, err := replay.New(w.t.Context(), w.bus, w.store, nil)
	w.check(err)
	plan := w.survey(opts) // before the worker changes anything
	ctx, stop := context.WithCancel(w.t.Context())
	var worker sync.WaitGroup
	worker.Go(func() {
		for ctx.Err() == nil {
			if !w.work(w.t.Context()) {
				time.Sleep(time.Second)
			}
		}
	})
	var did []string
	bounded, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	err = r.Do(bounded, plan, true, func(p replay.Progress) { did = append(did, p.Step.Run.Run+" "+string(p.Did)) })
	stop()
	worker.Wait()
	w.check(err)
	return did
}

// actions returns "run action" for each step.
func actions(plan replay.Plan) (all []string) {
	for _, step := range plan.Steps {
		all = append(all, step.Run.Run+" "+string(step.Action))
	}
	return all
}

// models returns the executions that events name, and their present bytes.
func (w *world) models() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for recorded, err := range w.bus.Read(w.t.Context(), events.Query{Kinds: []events.Kind{events.KindModelTrained}}) {
		w.check(err)
		data := recorded.Event.Data.(*events.ModelTrained)
		_, m, err := storage.Committed(w.t.Context(), w.store, root.Join("penguin", "Trainer"), data.Execution)
		if err != nil {
			all[data.Execution] = "gone"
			continue
		}
		all[data.Execution] = m.Outputs["model"].Digest
	}
	return all
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
