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
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// expireAfter is that of every pipeline in the property test.
const expireAfter = 2 * time.Hour

// policies are the trainer's and the pipeline's keys of the property test, each with what the model has to know of it.
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
	latest     bool // hyperparameters: the pipeline's last best where the run has none
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

// Facts come in random orders, twice, late, or never; dispatchers die before and after any of their effects, and what they read may be old
// where the contract of the bus lets it be; a worker does what it finds. Then every run is what the model says, which knows nothing but
// the log.
func TestWhateverHappensEveryRunIsWhatTheLogSays(t *testing.T) {
	t.Parallel()
	seeds := uint64(220)
	if testing.Short() {
		seeds = 44
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
	box    *eventstest.Memory
	stale  *eventstest.Stale // the same, as dispatchers and operators have it
	random *rand.Rand
	policy policy
	runs   []string
	calm   atomic.Bool // nobody crashes any more

	mu        sync.Mutex
	cancelled map[string]bool                  // runs that someone called off in time
	offered   map[string]map[string]events.Job // by run and id
	tuned     map[string]map[string]events.Job // by run and id: tune jobs
	committed map[string]events.Fact           // by job: what came of it
	busy      map[string]bool                  // runs with a job and no outcome
	most      int                              // of busy, ever
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, box: eventstest.NewMemory(0), random: rand.New(rand.NewPCG(seed, 99)), policy: policies[seed%uint64(len(policies))],
		cancelled: map[string]bool{}, offered: map[string]map[string]events.Job{}, busy: map[string]bool{},
		committed: map[string]events.Fact{}, tuned: map[string]map[string]events.Job{},
	}
	w.stale = eventstest.NewStale(w.box)
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
	time.Sleep(2 * expireAfter) // sweeps come to their end, and those who wait at the gate have their turn
	stop()
	others.Wait()
	w.check()
}

// publishAll tells what upstream has to tell, in some order, some of it twice, over an hour or so.
func (w *world) publishAll() {
	var facts []events.Fact
	for i, run := range w.runs {
		for _, fact := range []struct {
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
			if w.random.IntN(8) < map[bool]int{true: 2, false: 7}[fact.rare] {
				facts = append(facts, events.Fact{ID: fact.id, Source: "/test", Pipeline: "penguin", Run: run, Data: fact.data})
			}
		}
	}
	facts = append(facts, facts[:len(facts)/3]...)
	w.random.Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
	for i, fact := range facts {
		if _, err := w.box.Publish(w.t.Context(), fact); err != nil {
			w.t.Fatal(err)
		}
		if i%7 == 3 {
			if err := w.box.Inject(w.t.Context(), fmt.Sprintf("facts.transform-ready.penguin.poison.%d", i), nil, []byte("{")); err != nil {
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

// operate pauses the pipeline and lets it go on, and calls off a run, now and then.
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

// operator is the letterbox as someone sees it whose jobs are noted and who does not crash.
func (w *world) operator() events.Letterbox {
	random := rand.New(rand.NewPCG(w.random.Uint64(), 4))
	return newCrashing(w.stale.Client(random, staleness), -1, false, w.note)
}

// staleness is how old the reads of dispatchers and operators may be. With eventstest.AnyCopy the test fails: it finds what dispatchers
// would do wrong if they decided by direct gets and by consumers of replicas.
const staleness = eventstest.OnlyByContract

// dispatchers runs one dispatcher after the other, each until it crashes.
func (w *world) dispatchers(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		box := newCrashing(w.stale.Client(rand.New(rand.NewPCG(random.Uint64(), 5)), staleness), 1+random.IntN(60), random.IntN(2) == 0, w.note)
		box.calm = &w.calm
		d, err := dispatch.New(ctx, box, nil)
		if err != nil {
			w.t.Error(err)
			return
		}
		d.Concurrency = 1 + random.IntN(3) // most of a larger number would only wait for events
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
		case <-box.crashed:
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
	if w.offered[job.Run] == nil {
		w.offered[job.Run] = map[string]events.Job{}
		w.busy[job.Run] = true
		w.most = max(w.most, len(w.busy))
	}
	w.offered[job.Run][job.ID] = job
}

// work is a worker that takes its time, and now and then has no model to show for it, or loses a job.
func (w *world) work(ctx context.Context, function events.Function, random *rand.Rand) {
	for ctx.Err() == nil {
		claim, err := w.box.Take(ctx, function, []string{"cpu"}, time.Minute)
		if err != nil {
			continue
		}
		if !w.calm.Load() && random.IntN(12) == 0 {
			_ = claim.Done(ctx) // the bus has lost the job: nobody tells what came of it
			continue
		}
		err = claim.Hold(ctx, func(ctx context.Context) error {
			return w.train(ctx, claim, time.Duration(random.IntN(300))*time.Second)
		})
		if err == nil {
			err = claim.Done(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	}
}

// train tells what came of a job, unless it is called off.
func (w *world) train(ctx context.Context, claim events.Claim, takes time.Duration) error {
	job, err := claim.Job()
	if err != nil {
		return err
	}
	fact := outcomeOf(job)
	select {
	case <-ctx.Done():
	case <-time.After(takes):
	}
	if errors.Is(context.Cause(ctx), events.ErrCancelled) || claim.Attempt().Cancelled {
		fact = events.NewJobFailed(job, claim.Attempt(), &events.Failure{Kind: events.FailureCancelled, Err: errors.New("cancelled")})
	}
	_, err = w.box.Publish(context.WithoutCancel(ctx), w.commit(job, fact))
	return err
}

// commit keeps the first outcome of a job, as the store does: a job that was offered twice is told the same, even if it is called off
// the second time.
func (w *world) commit(job events.Job, fact events.Fact) events.Fact {
	w.mu.Lock()
	defer w.mu.Unlock()
	if job.Function == events.FunctionTrain {
		delete(w.busy, job.Run) // before it is told: who reads it may offer the next job at once
	}
	if first, done := w.committed[job.ID]; done {
		return first
	}
	w.committed[job.ID] = fact
	return fact
}

// outcomeOf is a model, or what a search has found, for most jobs, a failure for some; the same for the same job.
func outcomeOf(job events.Job) events.Fact {
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
	told := map[string]map[string]int{} // by run: what came of it
	for r, err := range w.box.Read(w.t.Context(), events.Query{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Err != nil {
			continue
		}
		log = append(log, r)
		if told[r.Fact.Run] == nil {
			told[r.Fact.Run] = map[string]int{}
		}
		switch r.Fact.Data.(type) {
		case *events.ModelTrained:
			told[r.Fact.Run]["model"]++
			told[r.Fact.Run][r.Fact.Source]++
		case *events.TrainingFailed:
			told[r.Fact.Run][r.Fact.Source]++
		}
	}
	for _, run := range w.runs {
		if w.cancelled[run] {
			w.checkCancelled(run, told[run])
			continue
		}
		delete(told[run], "model")
		w.checkTuning(run, w.model(log, run, time.Now()))
		w.checkRun(run, w.model(log, run, time.Now()), told[run])
	}
	if w.policy.limit > 0 && w.most > w.policy.limit {
		w.t.Errorf("%d runs at once, at most %d are allowed", w.most, w.policy.limit)
	}
	if gate, err := dispatch.ReadAdmission(w.t.Context(), w.box, "penguin"); err != nil || !gate.IsOpen() {
		w.t.Errorf("at the end the gate is %+v, %v", gate, err)
	}
	if left := jobs(w.t, w.box); len(left) != 0 {
		w.t.Errorf("%d jobs are left on the queue", len(left))
	}
}

// checkCancelled wants one word on what came of a run that was called off; and no model of one that is told to have ended before.
func (w *world) checkCancelled(run string, told map[string]int) {
	ended, ofJob := told["/stoker/dispatch"], told[events.Source(events.FunctionTrain)]
	j, err := dispatch.ReadJoin(w.t.Context(), w.box, "penguin", run)
	if err != nil {
		w.t.Fatal(err)
	}
	if ended > 1 || ofJob > 1 || ended+ofJob == 0 || ended == 1 && told["model"] > 0 || (ended == 1) != (j.State == join.Ended) {
		w.t.Errorf("%s was cancelled: it is %s, told %v", run, j.State, told)
	}
}

// checkTuning wants one tune job at most, made from what the run had when its tuning was due; and nobody who waits for one still.
func (w *world) checkTuning(run string, want expected) {
	if j, err := dispatch.ReadJoin(w.t.Context(), w.box, "penguin", run); err == nil && j.State == join.Waiting && len(want.tuned) > 0 {
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
			w.t.Errorf("%s is tuned on facts %v, with %q; want %v and %q", run, causes, job.Inputs.Hyperparameters, want.tuned, want.earlier)
		}
	}
}

func (w *world) checkRun(run string, want expected, told map[string]int) {
	j, err := dispatch.ReadJoin(w.t.Context(), w.box, "penguin", run)
	if errors.Is(err, events.ErrNotFound) {
		j.State = join.Waiting // nothing that starts a run was ever told
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
	offered := w.offered[run]
	wantTold := map[join.State]map[string]int{
		join.Waiting: {}, join.Ended: {"/stoker/dispatch": 1}, join.Dispatched: {events.Source(events.FunctionTrain): 1},
	}[want.state]
	if fmt.Sprint(told) != fmt.Sprint(wantTold) && len(told)+len(wantTold) > 0 {
		w.t.Errorf("%s: told %v, want %v", run, told, wantTold)
	}
	if want.state != join.Dispatched {
		if len(offered) != 0 {
			w.t.Errorf("%s is %s, and has %d jobs", run, want.state, len(offered))
		}
		return
	}
	if len(offered) != 1 {
		w.t.Errorf("%s: %d different jobs, want one", run, len(offered))
	}
	for _, job := range offered {
		var causes []uint64
		for _, cause := range job.Causes {
			causes = append(causes, cause.Sequence)
		}
		if fmt.Sprint(causes) != fmt.Sprint(want.causes) || job.Inputs.Hyperparameters != want.hparams || job.ID != j.Current().Job {
			w.t.Errorf("%s: job %s of facts %v with %q; want facts %v with %q, and the join has job %s",
				run, job.ID, causes, job.Inputs.Hyperparameters, want.causes, want.hparams, j.Current().Job)
		}
	}
}
