//go:build cluster

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/infra/chaos/history"
	"github.com/stoker-ml/stoker/infra/cluster"
)

// operation is one thing that publishers and operators do. It records the possible outcomes in the
// ledger before it begins.
type operation struct {
	name string
	do   func(*step, context.Context) error
}

// step is one operation on its way. Its number and the seed determine what it does.
type step struct {
	*campaign
	n int
	r *rand.Rand
}

// operations returns all there are. In a plan each occurs as often as the others, except those that
// are rare.
func operations() []operation {
	return []operation{
		{"train", (*step).train},
		{"apply and publish at once", (*step).fresh},
		{"cancel a run at its gate", (*step).cancelAtGate},
		{"cancel a run that waits", (*step).cancelWaiting},
		{"cancel a job", (*step).cancelJob},
		{"pause and resume", (*step).pause},
		{"supersede", (*step).supersede},
		{"let a run expire", (*step).expire},
		{"train with the latest hyperparameters", (*step).latest},
		{"train on a window", (*step).window},
		{"tune", (*step).tune},
		{"search", (*step).study},
		{"retry a dead letter", (*step).retry},
		{"spoil the log", (*step).poison},
		{"replay", (*step).replay},
		{"collect garbage", (*step).collect},
		{"purge the queue", (*step).purge},
		{"upload a folder", (*step).upload},
		{"overwrite an input", (*step).drift},
		{"freeze a worker past its lease", (*step).freeze},
	}
}

// The pipelines that several operations share. Others are applied by the operation that needs them.
var sharedPipelines = []string{tinyPipeline, tunedPipeline, `
pipeline: brief
module: builtin:tiny
trainer: {wait_for: [transform, hparams], hyperparameters: run, expire_after: 4s}
`, `
pipeline: narrow
module: builtin:tiny
trainer: {wait_for: [transform], hyperparameters: none}
concurrency: {runs: 1, newest: queue}
`, `
pipeline: latest
module: builtin:tiny
trainer: {wait_for: [transform], hyperparameters: latest}
`, `
pipeline: window
module: builtin:tiny
trainer: {wait_for: [examples], hyperparameters: none, window: 3}
`, `
pipeline: bucket
module: builtin:tiny
trainer: {wait_for: [examples], hyperparameters: none}
`}

// inputs uploads what runs read.
func (w *world) inputs() {
	w.tinyInputs()
	w.put("tiny/hp/best_hyperparameters.txt", hyperparameters)
	for i := range inputFolders {
		w.put(fmt.Sprintf("tiny/examples-%d/Split-train/data", i), fmt.Sprintf("rows %d of seed %d", i, w.plan.seed))
		w.put(fmt.Sprintf("tiny/examples-%d/Split-eval/data", i), "eval rows")
	}
}

const inputFolders = 8 // runs with the same inputs share an execution

func (s *step) server() int { return s.r.IntN(cluster.Size) }

// index reads the states of runs through one of the servers.
func (s *step) index() *runs.Snapshot { return runs.Open(s.buses[s.server()], runs.Options{}) }

func (s *step) at(path string) string { return s.root.Join(path).String() }

func (s *step) run(pipeline, what string) history.Run {
	return history.Run{Pipeline: pipeline, Run: fmt.Sprintf("%s %d", what, s.n)}
}

func (s *step) transform(r history.Run) events.Event {
	return event(r, "t", &events.TransformReady{
		TransformGraph:      s.at("tiny/graph"),
		TransformedExamples: []events.Examples{{URI: s.at(fmt.Sprintf("tiny/examples-%d", s.r.IntN(inputFolders)))}},
	})
}

func (s *step) hparams(r history.Run) events.Event {
	return event(r, "h", &events.HParamsReady{Hyperparameters: s.at("tiny/hp")})
}

func event(r history.Run, id string, data events.Data) events.Event {
	return events.Event{ID: id, Source: "/upstream", Pipeline: r.Pipeline, Run: r.Run, Data: data}
}

// publishAll publishes events in any order, each one to three times.
func (s *step) publishAll(ctx context.Context, evs ...events.Event) error {
	s.r.Shuffle(len(evs), func(i, j int) { evs[i], evs[j] = evs[j], evs[i] })
	for _, f := range evs {
		if err := s.publish(ctx, s.r, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *step) train(ctx context.Context) error {
	r := s.run("tiny", "train")
	s.ledger.trains(r)
	return s.publishAll(ctx, s.transform(r), s.hparams(r))
}

// fresh publishes for a pipeline in the moment in which applying it was acknowledged.
func (s *step) fresh(ctx context.Context) error {
	r := s.run(fmt.Sprintf("fresh-%d", s.n), "fresh")
	if err := s.apply(ctx, s.server(), strings.Replace(tinyPipeline, "pipeline: tiny", "pipeline: "+r.Pipeline, 1)); err != nil {
		return err
	}
	s.ledger.trains(r)
	return s.publishAll(ctx, s.transform(r), s.hparams(r))
}

// cancel asks for the end of a run; that it is too late for that is an answer, too.
func (s *step) cancel(ctx context.Context, r history.Run) error {
	s.ledger.stopped(r)
	bus := s.buses[s.server()]
	err := s.insist(ctx, func(ctx context.Context) error {
		cancelled, err := dispatch.Cancel(ctx, bus, r.Pipeline, r.Run)
		if err == nil && cancelled.Job == "" {
			s.ledger.cancelled(r)
			s.count("runs cancelled without a job")
		} else if err == nil {
			s.count("jobs cancelled")
		}
		return err
	})
	if errors.Is(err, dispatch.ErrTooLate) {
		s.count("cancelled too late")
		return nil
	}
	return err
}

// cancelAtGate cancels a run that waits for its turn, about when the turn comes.
func (s *step) cancelAtGate(ctx context.Context) error {
	a, b := s.run("narrow", "first"), s.run("narrow", "second")
	s.ledger.trains(a)
	if err := s.publish(ctx, s.r, s.transform(a)); err != nil {
		return err
	}
	if err := s.publish(ctx, s.r, s.transform(b)); err != nil {
		return err
	}
	bus := s.buses[s.server()]
	err := s.insist(ctx, func(ctx context.Context) error {
		return waitFor(ctx, func() bool {
			gate, err := runs.Open(bus, runs.Options{}).ReadAdmission(ctx, b.Pipeline)
			if err != nil {
				return false
			}
			before, waits := gate.Ahead(b.Run)
			return waits && before == 1 || gate.IsAdmitted(b.Run) || s.has(ctx, b, events.OutcomeKinds()...)
		})
	})
	if err != nil {
		return err
	}
	sleepFor(ctx, time.Duration(s.r.IntN(300))*time.Millisecond)
	return s.cancel(ctx, b)
}

// cancelWaiting cancels a run that lacks an event, about when that comes.
func (s *step) cancelWaiting(ctx context.Context) error {
	r := s.run("tiny", "incomplete")
	if err := s.publish(ctx, s.r, s.transform(r)); err != nil {
		return err
	}
	late := make(chan error, 1)
	random := rand.New(rand.NewPCG(s.plan.seed, uint64(s.n)))
	hparams, delay := s.hparams(r), time.Duration(s.r.IntN(100))*time.Millisecond
	go func() {
		sleepFor(ctx, delay)
		late <- s.publish(ctx, random, hparams)
	}()
	err := s.cancel(ctx, r)
	return errors.Join(err, <-late)
}

// cancelJob cancels a run whose job is on the queue or under way.
func (s *step) cancelJob(ctx context.Context) error {
	r := s.run("tiny", "begun")
	if err := s.publishAll(ctx, s.transform(r), s.hparams(r)); err != nil {
		return err
	}
	sleepFor(ctx, time.Duration(s.r.IntN(1500))*time.Millisecond)
	return s.cancel(ctx, r)
}

const narrowText = `
pipeline: %s
module: builtin:tiny
trainer: {wait_for: [transform], hyperparameters: none}
concurrency: {runs: 1, newest: %s}
`

func (s *step) pause(ctx context.Context) error {
	r := s.run(fmt.Sprintf("held-%d", s.n), "held")
	if err := s.apply(ctx, s.server(), fmt.Sprintf(narrowText, r.Pipeline, "queue")); err != nil {
		return err
	}
	err := s.insist(ctx, func(ctx context.Context) error { return dispatch.Pause(ctx, s.buses[s.server()], r.Pipeline) })
	if err != nil {
		return err
	}
	s.ledger.trains(r)
	if err := s.publish(ctx, s.r, s.transform(r)); err != nil {
		return err
	}
	sleepFor(ctx, time.Duration(500+s.r.IntN(2000))*time.Millisecond)
	if s.has(ctx, r, events.OutcomeKinds()...) {
		return fmt.Errorf("run %s has an outcome while its pipeline is paused", r)
	}
	return s.insist(ctx, func(ctx context.Context) error { return dispatch.Resume(ctx, s.buses[s.server()], r.Pipeline) })
}

// supersede publishes several runs at once, of which all but the newest may be superseded.
func (s *step) supersede(ctx context.Context) error {
	name := fmt.Sprintf("newest-%d", s.n)
	if err := s.apply(ctx, s.server(), fmt.Sprintf(narrowText, name, "supersede")); err != nil {
		return err
	}
	const runs = 4
	for i := range runs {
		r := s.run(name, fmt.Sprintf("burst-%d", i))
		if i < runs-1 {
			s.ledger.stopped(r)
		} else {
			s.ledger.trains(r)
		}
		if err := s.publish(ctx, s.r, s.transform(r)); err != nil {
			return err
		}
	}
	return nil
}

// expire lets one run wait for an event that isn't published, and publishes all events of another
// one.
func (s *step) expire(ctx context.Context) error {
	if err := s.publish(ctx, s.r, s.transform(s.run("brief", "in vain"))); err != nil {
		return err
	}
	r := s.run("brief", "in time")
	return s.publishAll(ctx, s.transform(r), s.hparams(r))
}

func (s *step) latest(ctx context.Context) error {
	r := s.run("latest", "latest")
	s.ledger.trains(r)
	return s.publishAll(ctx, s.transform(r), s.hparams(r))
}

func (s *step) window(ctx context.Context) error {
	r := s.run("window", "span")
	s.ledger.trains(r)
	return s.publishAll(ctx, event(r, "e", &events.ExamplesReady{
		Examples: []events.Examples{{URI: s.at(fmt.Sprintf("tiny/examples-%d", s.n%inputFolders)), Span: int64(s.n)}},
	}))
}

func (s *step) tune(ctx context.Context) error {
	r := s.run("tuned", "tuned")
	s.ledger.trains(r)
	return s.publishAll(ctx, s.transform(r))
}

func (s *step) study(ctx context.Context) error {
	r := s.run(fmt.Sprintf("study-%d", s.n), "study")
	text := strings.Replace(fmt.Sprintf(studyPipeline, "{name: asha, max_epochs: 3, factor: 3}, max_trials: 3"), "pipeline: study", "pipeline: "+r.Pipeline, 1)
	if err := s.apply(ctx, s.server(), strings.Replace(text, "num_steps: 18", "num_steps: 6", 1)); err != nil {
		return err
	}
	s.ledger.trains(r)
	return s.publishAll(ctx, s.transform(r))
}

// retry has a job fail for lack of its inputs, brings these, and gives its dead letter another try.
func (s *step) retry(ctx context.Context) error {
	r, folder := s.run("tiny", "dead"), fmt.Sprintf("late/examples-%d", s.n)
	s.ledger.failing(r)
	f := s.transform(r)
	f.Data.(*events.TransformReady).TransformedExamples[0].URI = s.at(folder)
	if err := s.publishAll(ctx, f, s.hparams(r)); err != nil {
		return err
	}
	deadLetter, err := s.deadLetter(ctx, r)
	if err != nil {
		return err
	}
	if err := errors.Join(s.bring(ctx, folder+"/Split-train/data", "late rows"), s.bring(ctx, folder+"/Split-eval/data", "late eval rows")); err != nil {
		return err
	}
	s.ledger.trains(r)
	s.retries.RLock()
	defer s.retries.RUnlock()
	err = s.insist(ctx, func(ctx context.Context) error {
		bus := s.buses[s.server()]
		d, err := dispatch.New(ctx, bus, nil)
		if err == nil {
			err = replay.Retry(ctx, bus, d, deadLetter)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.await(ctx, r, events.KindModelTrained)
}

// bring uploads an object. Unlike put it may be called from any goroutine.
func (s *step) bring(ctx context.Context, key, body string) error {
	_, err := s.store.Put(ctx, s.root.Join(key), strings.NewReader(body), int64(len(body)))
	return err
}

// deadLetter waits for the dead letter of a run's job.
func (s *step) deadLetter(ctx context.Context, r history.Run) (deadLetter events.DeadLetter, err error) {
	err = s.insist(ctx, func(ctx context.Context) error {
		for l, err := range s.buses[s.server()].DeadLetters(ctx) {
			if err != nil {
				return err
			}
			if pipeline, run := replay.RunOf(l); pipeline == r.Pipeline && run == r.Run {
				deadLetter = l
				return nil
			}
		}
		return fmt.Errorf("run %s has no dead letter", r)
	})
	return deadLetter, err
}

// poison puts messages on the log that can't be handled.
func (s *step) poison(ctx context.Context) error {
	for _, p := range s.poisons(s.n) {
		if !strings.HasPrefix(p.subject, "events.") {
			continue
		}
		s.ledger.spoiled(p.subject)
		if err := s.insist(ctx, func(ctx context.Context) error { return s.inject(ctx, p) }); err != nil {
			return err
		}
	}
	return nil
}

// replay does again what is missing, of everything.
func (s *step) replay(ctx context.Context) error {
	return s.insist(ctx, func(ctx context.Context) error {
		again, err := replay.New(ctx, s.buses[s.server()], s.store, nil)
		if err != nil {
			return err
		}
		plan, err := again.Survey(ctx, replay.Options{})
		if err != nil {
			return err
		}
		for _, todo := range plan.Steps {
			if todo.Action != replay.Leave && todo.Action != replay.Stuck {
				s.count("runs replayed: " + string(todo.Action))
			}
		}
		return again.Do(ctx, plan, false, func(replay.Progress) {})
	})
}

// collect removes what is no longer needed and older than anything in progress.
func (s *step) collect(ctx context.Context) error {
	return s.insist(ctx, func(ctx context.Context) error {
		return gc.Collect(ctx, s.buses[s.server()], s.store, gc.Options{Root: s.root, OlderThan: 5 * time.Minute}, func(gc.Removal) {})
	})
}

// purge empties the queue, as an operator may.
func (s *step) purge(ctx context.Context) error {
	s.retries.Lock()
	defer s.retries.Unlock()
	return s.insist(ctx, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, "JOBS")
		if err == nil {
			err = stream.Purge(ctx)
		}
		return err
	})
}

// upload has a store notify the bridge, perhaps twice, of a complete folder.
func (s *step) upload(ctx context.Context) error {
	r := s.run("bucket", "upload")
	folder := fmt.Sprintf("uploads/%d", s.n)
	s.ledger.trains(r)
	marker := fmt.Sprintf(`{"pipeline": "bucket", "run": %q}`, r.Run)
	err := errors.Join(s.bring(ctx, folder+"/Split-train/data", "rows"), s.bring(ctx, folder+"/Split-eval/data", "eval rows"), s.bring(ctx, folder+"/_SUCCESS", marker))
	if err != nil {
		return err
	}
	at := s.root.Join(folder + "/_SUCCESS")
	notification := fmt.Sprintf(`{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": %q}, "object": {"key": %q}}}]}`, at.Bucket, at.Key)
	for range 1 + s.r.IntN(2) {
		if err := s.insist(ctx, func(ctx context.Context) error { return s.buses[s.server()].Notify(ctx, "data", []byte(notification)) }); err != nil {
			return err
		}
	}
	return nil
}

// drifting publishes the events of a run of which one input has a folder of its own, and returns
// what overwrites that.
func (s *step) drifting(ctx context.Context, r history.Run) (overwrite func(version int) error, err error) {
	folder := fmt.Sprintf("drift/examples-%d", s.n)
	overwrite = func(version int) error {
		return s.bring(ctx, folder+"/Split-train/data", fmt.Sprintf("rows %d of %d", version, s.n))
	}
	if err := errors.Join(overwrite(0), s.bring(ctx, folder+"/Split-eval/data", "eval rows")); err != nil {
		return nil, err
	}
	f := s.transform(r)
	f.Data.(*events.TransformReady).TransformedExamples[0].URI = s.at(folder)
	s.ledger.trains(r)
	return overwrite, s.publishAll(ctx, f, s.hparams(r))
}

// drift overwrites an input of a run while its job is under way, so that a later attempt of the
// same job is another execution.
func (s *step) drift(ctx context.Context) error {
	overwrite, err := s.drifting(ctx, s.run("tiny", "drift"))
	if err != nil {
		return err
	}
	for i := range 5 {
		sleepFor(ctx, time.Duration(s.r.IntN(1000))*time.Millisecond)
		if err := overwrite(i + 1); err != nil {
			return err
		}
	}
	return nil
}

// freeze freezes the worker that has a run's job, overwrites an input, and wakes the worker once
// another one has trained: the frozen one's job is another execution, which must not be announced.
func (s *step) freeze(ctx context.Context) error {
	s.freezing.Lock()
	defer s.freezing.Unlock()
	r := s.run("tiny", "frozen")
	overwrite, err := s.drifting(ctx, r)
	if err != nil {
		return err
	}
	holder, err := s.holder(ctx, r)
	if err != nil {
		return err
	}
	if holder == nil {
		s.count("frozen too late")
		return nil
	}
	holder.end(syscall.SIGSTOP)
	defer func() { _ = holder.wake() }() // unless it was killed before
	s.count("workers frozen")
	if err := overwrite(1); err != nil {
		return err
	}
	return s.await(ctx, r, events.OutcomeKinds()...)
}

// holder waits until a worker logs that it has claimed the job of a run; nil if the run has its
// outcome before.
func (s *step) holder(ctx context.Context, r history.Run) (*process, error) {
	for ctx.Err() == nil {
		for _, p := range s.processes {
			if p.part.Role == roleWorker && strings.Contains(said(s.logOf(p), r), `msg="job claimed"`) {
				return p, nil
			}
		}
		if s.has(ctx, r, events.OutcomeKinds()...) {
			return nil, nil
		}
		sleepFor(ctx, 50*time.Millisecond)
	}
	return nil, fmt.Errorf("nobody takes the job of run %s: %w", r, context.Cause(ctx))
}

// has reports whether the log has an event of a kind for a run.
func (s *step) has(ctx context.Context, r history.Run, kinds ...events.Kind) bool {
	for recorded, err := range s.buses[s.server()].Read(ctx, events.Query{Kinds: kinds, Pipeline: r.Pipeline, Run: r.Run}) {
		return err == nil && recorded.Err == nil
	}
	return false
}

// await waits until the log has an event of one of the kinds for a run.
func (s *step) await(ctx context.Context, r history.Run, kinds ...events.Kind) error {
	for !s.has(ctx, r, kinds...) {
		if sleepFor(ctx, 300*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("no %v of run %s: %w", kinds, r, context.Cause(ctx))
		}
	}
	return nil
}

func sleepFor(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}
