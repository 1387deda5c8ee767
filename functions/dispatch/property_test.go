package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// expireAfter is that of every pipeline in the property test.
const expireAfter = 2 * time.Hour

// policies are the trainer's and the pipeline's keys of the property test, each with what the model
// needs to know of it.
var policies = []policy{
	{keys: "", waits: []events.Kind{events.KindTransformReady}, latest: true},
	{keys: "trainer: {hyperparameters: run, %s}", waits: []events.Kind{events.KindTransformReady, events.KindHParamsReady}},
	{keys: "trainer: {wait_for: [examples, transform], hyperparameters: latest, %s}",
		waits: []events.Kind{events.KindExamplesReady, events.KindTransformReady}, latest: true},
	{keys: "trainer: {hyperparameters: run, %s}\nconcurrency: 1", waits: []events.Kind{events.KindTransformReady, events.KindHParamsReady}, limit: 1},
	{keys: "trainer: {hyperparameters: none, %s}\nconcurrency: 3", waits: []events.Kind{events.KindTransformReady}, limit: 3},
	{keys: "concurrency: {runs: 2, newest: supersede}", waits: []events.Kind{events.KindTransformReady}, latest: true, limit: 2, supersedes: true},
	{keys: "tuner: {when: never}", waits: []events.Kind{events.KindTransformReady, events.KindHParamsReady}, onFailed: "latest"},
	{keys: "tuner: {when: never, on_failed: fail}", waits: []events.Kind{events.KindTransformReady, events.KindHParamsReady}, onFailed: "fail"},
	{keys: "tuner: {when: always}", waits: []events.Kind{events.KindTransformReady, events.KindHParamsReady}, onFailed: "latest", tunes: true},
	{keys: "tuner: {when: always, on_failed: fail}\nconcurrency: 2\ntrainer: {wait_for: [examples, transform, hparams], %s}",
		waits: []events.Kind{events.KindExamplesReady, events.KindTransformReady, events.KindHParamsReady}, onFailed: "fail", tunes: true, limit: 2},
	{keys: "tuner: {when: always}\nconcurrency: {runs: 1, newest: supersede}", waits: []events.Kind{events.KindTransformReady, events.KindHParamsReady},
		onFailed: "latest", tunes: true, limit: 1, supersedes: true},
	{keys: "tuner: {when: changed}", waits: []events.Kind{events.KindTransformReady, events.KindHParamsReady}, onFailed: "latest", tunes: true, reuses: true},
	{keys: "tuner: {when: {every: 7d}, on_failed: fail}\nconcurrency: 2", waits: []events.Kind{events.KindTransformReady, events.KindHParamsReady},
		onFailed: "fail", tunes: true, reuses: true, limit: 2},
}

type policy struct {
	keys       string
	waits      []events.Kind
	latest     bool // hyperparameters: the pipeline's last best if the run has none
	limit      int
	supersedes bool
	onFailed   string // of its tuner
	tunes      bool
	reuses     bool // a tune job may find that there is nothing to search for
}

func (p policy) text() string {
	keys := p.keys
	if !strings.Contains(keys, "trainer") {
		keys += "\ntrainer: {%s}"
	}
	return "pipeline: penguin\nmodule: ./penguin_utils.py\n" + fmt.Sprintf(keys, "expire_after: 2h") + "\n"
}

// Events arrive in random order, twice, late, or never; dispatchers die before and after any of
// their effects, and may read copies as old as the contract of the bus allows; a worker does the
// jobs that it finds. In the end every run is as the model computes it from the log alone.
func TestWhateverHappensEveryRunIsWhatTheLogImplies(t *testing.T) {
	t.Parallel()
	seeds := uint64(220)
	if testing.Short() {
		seeds = uint64(len(policies)) // each once; task test plays all
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newWorld(t, seed).live() })
		})
	}
}

// world is one run of the property test.
type world struct {
	t      *testing.T
	bus    *bustest.Memory
	stale  *bustest.Stale // the same, as dispatchers and operators see it
	random *rand.Rand
	policy policy
	runs   []string
	calm   atomic.Bool // no more crashes

	mu        sync.Mutex
	cancelled map[string]bool                  // runs that were cancelled in time
	enqueued  map[string]map[string]events.Job // by run and id
	tuned     map[string]map[string]events.Job // by run and id: tune jobs
	committed map[string]events.Event          // by job: its outcome
	busy      map[string]bool                  // runs with a job and without an outcome
	most      int                              // most runs that were ever busy at once
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, bus: bustest.NewMemory(0), random: rand.New(rand.NewPCG(seed, 99)), policy: policies[seed%uint64(len(policies))],
		cancelled: map[string]bool{}, enqueued: map[string]map[string]events.Job{}, busy: map[string]bool{},
		committed: map[string]events.Event{}, tuned: map[string]map[string]events.Job{},
	}
	w.stale = bustest.NewStale(w.bus)
	apply(t, w.stale.Client(w.random, staleness), w.policy.text())
	for i := range 12 {
		w.runs = append(w.runs, fmt.Sprintf("run %d", i))
	}
	return w
}

func (w *world) live() {
	ctx, stop := context.WithCancel(w.t.Context())
	var others sync.WaitGroup
	for range 1 + w.random.IntN(3) {
		random := rand.New(rand.NewPCG(w.random.Uint64(), 1))
		others.Go(func() { w.dispatchers(ctx, random) })
	}
	worker := rand.New(rand.NewPCG(w.random.Uint64(), 2))
	others.Go(func() { w.work(ctx, events.FunctionTrain, worker) })
	searcher := rand.New(rand.NewPCG(w.random.Uint64(), 3))
	others.Go(func() { w.work(ctx, events.FunctionTune, searcher) })
	w.publishAll()
	time.Sleep(2 * expireAfter)
	w.calm.Store(true)
	time.Sleep(2 * expireAfter) // sweeps finish, and waiting runs are admitted
	stop()
	others.Wait()
	w.check()
}

// publishAll publishes all events of upstream, in some order, some twice, over an hour or so.
func (w *world) publishAll() {
	var evs []events.Event
	for i, run := range w.runs {
		for _, event := range []struct {
			id   string
			rare bool
			data events.Data
		}{
			{"e", false, &events.ExamplesReady{Examples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/raw-%d", i), Span: int64(i)}}}},
			{"t", false, &events.TransformReady{TransformGraph: "s3://bkt/graph", TransformedExamples: []events.Examples{{URI: fmt.Sprintf("s3://bkt/tx-%d", i)}}}},
			{"u", true, &events.TransformReady{TransformGraph: "s3://bkt/another"}},
			{"h", false, hparams(fmt.Sprintf("s3://bkt/hp-%d", i))},
			{"i", true, hparams(fmt.Sprintf("s3://bkt/another-hp-%d", i))},
			{"f", true, &events.TuningFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "boom"}}},
		} {
			if w.random.IntN(8) < map[bool]int{true: 2, false: 7}[event.rare] {
				evs = append(evs, events.Event{ID: event.id, Source: "/test", Pipeline: "penguin", Run: run, Data: event.data})
			}
		}
	}
	evs = append(evs, evs[:len(evs)/3]...)
	w.random.Shuffle(len(evs), func(i, j int) { evs[i], evs[j] = evs[j], evs[i] })
	for i, event := range evs {
		if _, err := w.bus.Publish(w.t.Context(), event); err != nil {
			w.t.Fatal(err)
		}
		if i%7 == 3 {
			if err := w.bus.Inject(w.t.Context(), fmt.Sprintf("events.transform-ready.penguin.poison.%d", i), nil, []byte("{")); err != nil {
				w.t.Fatal(err)
			}
		}
		w.operate(i)
		if w.random.IntN(3) == 0 {
			time.Sleep(time.Duration(w.random.IntN(600)) * time.Second)
		}
	}
	if err := dispatch.Resume(w.t.Context(), w.operator(), "penguin"); err != nil {
		w.t.Fatal(err)
	}
}

// operate pauses and resumes the pipeline, and cancels a run, at random.
func (w *world) operate(i int) {
	var err error
	switch {
	case i%11 == 5:
		err = dispatch.Pause(w.t.Context(), w.operator(), "penguin")
	case i%11 == 8:
		err = dispatch.Resume(w.t.Context(), w.operator(), "penguin")
	}
	if err != nil {
		w.t.Error(err)
	}
	if i%17 == 9 {
		w.cancel(w.runs[w.random.IntN(len(w.runs))])
	}
}

func (w *world) cancel(run string) {
	_, err := dispatch.Cancel(w.t.Context(), w.operator(), "penguin", run)
	if err != nil && !errors.Is(err, dispatch.ErrTooLate) && !errors.Is(err, events.ErrNotFound) {
		w.t.Error(err)
	}
	if err == nil {
		w.cancelled[run] = true
	}
}

// operator is the bus of a process whose jobs are recorded and that does not crash.
func (w *world) operator() events.Bus {
	random := rand.New(rand.NewPCG(w.random.Uint64(), 4))
	return newCrashing(w.stale.Client(random, staleness), -1, false, w.note)
}

// staleness is how old the reads of dispatchers and operators may be. With bustest.AnyCopy the
// test fails: it finds the errors that dispatchers would make if they decided by direct gets and by
// consumers of replicas.
const staleness = bustest.OnlyByContract

// dispatchers runs one dispatcher after the other, each until it crashes.
func (w *world) dispatchers(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		bus := newCrashing(w.stale.Client(rand.New(rand.NewPCG(random.Uint64(), 5)), staleness), 1+random.IntN(60), random.IntN(2) == 0, w.note)
		bus.calm = &w.calm
		d, err := dispatch.New(ctx, bus, nil)
		if err != nil {
			w.t.Error(err)
			return
		}
		d.Concurrency = 1 + random.IntN(3) // with more, most of them would only wait for events
		running, crash := context.WithCancel(ctx)
		stopped := context.AfterFunc(ctx, crash)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := d.Run(running); err != nil && !errors.Is(err, errCrashed) {
				w.t.Error(err)
			}
		}()
		select {
		case <-bus.crashed:
		case <-ctx.Done():
		}
		crash()
		<-done
		stopped()
		time.Sleep(time.Duration(random.IntN(60)) * time.Second)
	}
}

func (w *world) note(job events.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if job.Function == events.FunctionTune {
		if w.tuned[job.Run] == nil {
			w.tuned[job.Run] = map[string]events.Job{}
		}
		w.tuned[job.Run][job.ID] = job
		return
	}
	if w.enqueued[job.Run] == nil {
		w.enqueued[job.Run] = map[string]events.Job{}
		w.busy[job.Run] = true
		w.most = max(w.most, len(w.busy))
	}
	w.enqueued[job.Run][job.ID] = job
}

// work is a worker that takes some time, and at random fails or loses a job.
func (w *world) work(ctx context.Context, function events.Function, random *rand.Rand) {
	for ctx.Err() == nil {
		claim, err := w.bus.Claim(ctx, function, []string{"cpu"}, time.Minute)
		if err != nil {
			continue
		}
		if !w.calm.Load() && random.IntN(12) == 0 {
			_ = claim.Ack(ctx) // the bus has lost the job: it has no outcome
			continue
		}
		err = claim.KeepAlive(ctx, func(ctx context.Context) error {
			return w.train(ctx, claim, time.Duration(random.IntN(300))*time.Second)
		})
		if err == nil {
			err = claim.Ack(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	}
}

// train publishes the outcome of a job, unless the job is cancelled.
func (w *world) train(ctx context.Context, claim events.Claim, takes time.Duration) error {
	job, err := claim.Job()
	if err != nil {
		return err
	}
	event := outcomeOf(job)
	select {
	case <-ctx.Done():
	case <-time.After(takes):
	}
	if errors.Is(context.Cause(ctx), events.ErrCancelled) || claim.Attempt().Cancelled {
		event = events.NewJobFailed(job, claim.Attempt(), &events.Failure{Kind: events.FailureCancelled, Err: errors.New("cancelled")})
	}
	_, err = w.bus.Publish(context.WithoutCancel(ctx), w.commit(job, event))
	return err
}

// commit keeps the first outcome of a job, as the store does: a job that was enqueued twice has the
// same outcome, even if it is cancelled the second time.
func (w *world) commit(job events.Job, event events.Event) events.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	if job.Function == events.FunctionTrain {
		// Before it is published, because its reader may enqueue the next job at once.
		delete(w.busy, job.Run)
	}
	if first, done := w.committed[job.ID]; done {
		return first
	}
	w.committed[job.ID] = event
	return event
}

// outcomeOf returns a result for most jobs, and a failure for some; always the same for the same
// job.
func outcomeOf(job events.Job) events.Event {
	if job.ID[0] == '0' {
		return events.NewJobFailed(job, events.Attempt{Number: 1}, &events.Failure{Kind: events.FailureModule, Err: errors.New("boom")})
	}
	digest := "sha256:" + job.ID
	if by, ours := strings.CutPrefix(job.Inputs.Hyperparameters, "s3://bkt/found-"); job.Function == events.FunctionTune && ours && job.ID[1] < '8' {
		reused := &events.HParamsReady{Hyperparameters: job.Inputs.Hyperparameters, Execution: "sha256:" + by, Reused: true}
		return events.NewHParamsFound(job, reused, time.Unix(1, 0))
	}
	if job.Function == events.FunctionTune {
		return events.NewHParamsFound(job, &events.HParamsReady{Hyperparameters: "s3://bkt/found-" + job.ID, Execution: digest}, time.Unix(1, 0))
	}
	return events.NewModelTrained(job, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/model", Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Inputs: []events.Artifact{}, Module: "builtin",
	})
}

func (w *world) check() {
	var log []events.Recorded
	published := map[string]map[string]int{} // by run: its outcomes
	for r, err := range w.bus.Read(w.t.Context(), events.Query{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Err != nil {
			continue
		}
		log = append(log, r)
		if published[r.Event.Run] == nil {
			published[r.Event.Run] = map[string]int{}
		}
		switch r.Event.Data.(type) {
		case *events.ModelTrained:
			published[r.Event.Run]["model"]++
			published[r.Event.Run][r.Event.Source]++
		case *events.TrainingFailed:
			published[r.Event.Run][r.Event.Source]++
		}
	}
	for _, run := range w.runs {
		if w.cancelled[run] {
			w.checkCancelled(run, published[run])
			continue
		}
		delete(published[run], "model")
		w.checkTuning(run, w.model(log, run, time.Now()))
		w.checkRun(run, w.model(log, run, time.Now()), published[run])
	}
	if w.policy.limit > 0 && w.most > w.policy.limit {
		w.t.Errorf("%d runs at once, at most %d are allowed", w.most, w.policy.limit)
	}
	if gate, err := dispatch.ReadAdmission(w.t.Context(), w.bus, "penguin"); err != nil || !gate.IsOpen() {
		w.t.Errorf("at the end the gate is %+v, %v", gate, err)
	}
	if left := jobs(w.t, w.bus); len(left) != 0 {
		w.t.Errorf("%d jobs are left on the queue", len(left))
	}
}

// checkCancelled checks that a cancelled run has one outcome, and no model if it ended before.
func (w *world) checkCancelled(run string, published map[string]int) {
	ended, ofJob := published["/stoker/dispatch"], published[events.Source(events.FunctionTrain)]
	j, err := dispatch.ReadJoin(w.t.Context(), w.bus, "penguin", run)
	if err != nil {
		w.t.Fatal(err)
	}
	if ended > 1 || ofJob > 1 || ended+ofJob == 0 || ended == 1 && published["model"] > 0 || (ended == 1) != (j.State == join.Ended) {
		w.t.Errorf("%s was cancelled: it is %s, published %v", run, j.State, published)
	}
}

// checkTuning checks that a run has one tune job at most, made from the events that the run had
// when its tuning was due, and that no run still waits for one.
func (w *world) checkTuning(run string, want expected) {
	if j, err := dispatch.ReadJoin(w.t.Context(), w.bus, "penguin", run); err == nil && j.State == join.Waiting && len(want.tuned) > 0 {
		w.t.Errorf("%s still waits for its tuning: %+v", run, j.Current())
	}
	if len(w.tuned[run]) > 1 || len(w.tuned[run]) > 0 && len(want.tuned) == 0 {
		w.t.Errorf("%s has %d tune jobs, and is to be tuned on %v", run, len(w.tuned[run]), want.tuned)
	}
	for _, job := range w.tuned[run] {
		var causes []uint64
		for _, cause := range job.Causes {
			causes = append(causes, cause.Sequence)
		}
		if fmt.Sprint(causes) != fmt.Sprint(want.tuned) || job.Inputs.Hyperparameters != want.earlier {
			w.t.Errorf("%s is tuned on events %v, with %q; want %v and %q", run, causes, job.Inputs.Hyperparameters, want.tuned, want.earlier)
		}
	}
}

func (w *world) checkRun(run string, want expected, published map[string]int) {
	j, err := dispatch.ReadJoin(w.t.Context(), w.bus, "penguin", run)
	if errors.Is(err, events.ErrNotFound) {
		j.State = join.Waiting // no event that starts a run was published
	} else if err != nil {
		w.t.Fatal(err)
	}
	superseded := j.State == join.Ended && want.superseding && strings.HasPrefix(j.Ending.Message, "superseded by")
	if superseded {
		want.state = join.Ended
	}
	if j.State != want.state || j.State == join.Ended && !j.Ending.Announced {
		w.t.Errorf("%s is %s (%+v), the model says %s", run, j.State, j.Ending, want.state)
		return
	}
	enqueued := w.enqueued[run]
	wantPublished := map[join.State]map[string]int{
		join.Waiting: {}, join.Ended: {"/stoker/dispatch": 1}, join.Dispatched: {events.Source(events.FunctionTrain): 1},
	}[want.state]
	if fmt.Sprint(published) != fmt.Sprint(wantPublished) && len(published)+len(wantPublished) > 0 {
		w.t.Errorf("%s: published %v, want %v", run, published, wantPublished)
	}
	if want.state != join.Dispatched {
		if len(enqueued) != 0 {
			w.t.Errorf("%s is %s, and has %d jobs", run, want.state, len(enqueued))
		}
		return
	}
	if len(enqueued) != 1 {
		w.t.Errorf("%s: %d different jobs, want one", run, len(enqueued))
	}
	for _, job := range enqueued {
		var causes []uint64
		for _, cause := range job.Causes {
			causes = append(causes, cause.Sequence)
		}
		if fmt.Sprint(causes) != fmt.Sprint(want.causes) || job.Inputs.Hyperparameters != want.hparams || job.ID != j.Current().Job {
			w.t.Errorf("%s: job %s of events %v with %q; want events %v with %q, and the join has job %s",
				run, job.ID, causes, job.Inputs.Hyperparameters, want.causes, want.hparams, j.Current().Job)
		}
	}
}
