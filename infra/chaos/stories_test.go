//go:build cluster

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/infra/chaos/history"
	"github.com/stoker-ml/stoker/infra/cluster"
	"github.com/stoker-ml/stoker/storage"
)

const storyTime = 8 * time.Minute // for each story, on a machine that is busy

// Everything that publishers and operators do has on three servers, of which two hear late of each
// other, the outcome that it has on one.
func TestStoriesOnThreeServers(t *testing.T) {
	p := newPlan(t, 1)
	p.kind = true
	c := newCampaign(t, p)
	c.staff(never, never)
	c.cluster.Slow(0, 2, slowStory)
	c.cluster.Slow(2, 0, slowStory)
	for n, story := range []struct {
		name string
		run  func(*step, context.Context) error
	}{
		{"a run is trained at once after its pipeline is applied", (*step).fresh},
		{"runs of a gate go one by one", (*step).queueStory},
		{"a run at a closed gate is cancelled", (*step).cancelStory},
		{"a job is cancelled", (*step).cancelJob},
		{"a paused pipeline trains nothing", (*step).pause},
		{"the newest run supersedes those that wait", (*step).supersedeStory},
		{"a run expires", (*step).expireStory},
		{"a run takes the latest hyperparameters", (*step).latestStory},
		{"a run trains on the last spans", (*step).windowStory},
		{"a run is tuned", (*step).tuneStory},
		{"a study is searched", (*step).studyStory},
		{"a dead letter is retried", (*step).retry},
		{"a spoiled message is a dead letter", (*step).poison},
		{"a model that is gone is trained again", (*step).replayStory},
		{"a queue that is removed comes back", (*step).lostQueueStory},
		{"a folder that is uploaded is trained", (*step).upload},
		{"servers are restarted in turn", (*step).restartStory},
		{"garbage is collected, and models stay", (*step).collectStory},
	} {
		t.Run(story.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), storyTime)
			defer cancel()
			c.note("story: "+story.name, "")
			if err := story.run(&step{campaign: c, n: n, r: p.rand(streamOperations + uint64(n))}, ctx); err != nil {
				t.Error(err)
			}
		})
	}
	h, found := c.rest()
	c.judge(h, found)
}

const slowStory = 5 * time.Millisecond

// modelsOf returns the events that announce models of a pipeline, in their order.
func (s *step) modelsOf(ctx context.Context, pipeline string) (all []events.Event, err error) {
	for recorded, err := range s.buses[s.server()].Read(ctx, events.Query{Kinds: []events.Kind{events.KindModelTrained}, Pipeline: pipeline}) {
		if err = errors.Join(err, recorded.Err); err != nil {
			return nil, err
		}
		all = append(all, recorded.Event)
	}
	return all, nil
}

// trained publishes the events of a run and returns the event that announces its model.
func (s *step) trained(ctx context.Context, r history.Run, evs ...events.Event) (*events.ModelTrained, error) {
	s.ledger.trains(r)
	if err := errors.Join(s.publishAll(ctx, evs...), s.await(ctx, r, events.KindModelTrained)); err != nil {
		return nil, err
	}
	models, err := s.modelsOf(ctx, r.Pipeline)
	for _, m := range models {
		if m.Run == r.Run {
			return m.Data.(*events.ModelTrained), err
		}
	}
	return nil, errors.Join(err, fmt.Errorf("run %s has no model", r))
}

// waiting pauses a pipeline and has runs wait at its gate.
func (s *step) waiting(ctx context.Context, name, newest string, count int) (runs []history.Run, err error) {
	if err := s.apply(ctx, s.server(), fmt.Sprintf(narrowText, name, newest)); err != nil {
		return nil, err
	}
	if err := dispatch.Pause(ctx, s.buses[s.server()], name); err != nil {
		return nil, err
	}
	for i := range count {
		r := s.run(name, fmt.Sprintf("number %d", i))
		runs = append(runs, r)
		if err := s.publish(ctx, s.r, s.transform(r)); err != nil {
			return nil, err
		}
	}
	return runs, waitFor(ctx, func() bool {
		gate, err := s.index().ReadAdmission(ctx, name)
		return err == nil && len(gate.Waiting) == count
	})
}

func (s *step) queueStory(ctx context.Context) error {
	runs, err := s.waiting(ctx, "queued", "queue", 3)
	if err != nil {
		return err
	}
	if err := dispatch.Resume(ctx, s.buses[s.server()], "queued"); err != nil {
		return err
	}
	for _, r := range runs {
		s.ledger.trains(r)
		if err := s.await(ctx, r, events.KindModelTrained); err != nil {
			return err
		}
	}
	models, err := s.modelsOf(ctx, "queued")
	for i, m := range models {
		if m.Run != runs[i].Run {
			err = errors.Join(err, fmt.Errorf("model %d is that of run %s, not of %s", i, m.Run, runs[i].Run))
		}
	}
	return err
}

func (s *step) cancelStory(ctx context.Context) error {
	runs, err := s.waiting(ctx, "closed", "queue", 1)
	if err != nil {
		return err
	}
	s.ledger.stopped(runs[0])
	cancelled, err := dispatch.Cancel(ctx, s.buses[s.server()], "closed", runs[0].Run)
	if err != nil || cancelled.Job != "" {
		return fmt.Errorf("cancel: %+v, %w", cancelled, err)
	}
	s.ledger.cancelled(runs[0])
	if err := dispatch.Resume(ctx, s.buses[s.server()], "closed"); err != nil {
		return err
	}
	after := s.run("closed", "after")
	if _, err := s.trained(ctx, after, s.transform(after)); err != nil {
		return err
	}
	if s.has(ctx, runs[0], events.KindModelTrained) {
		return fmt.Errorf("run %s was cancelled, and has a model", runs[0])
	}
	return nil
}

func (s *step) supersedeStory(ctx context.Context) error {
	runs, err := s.waitingFewer(ctx, "replaced", 3)
	if err != nil {
		return err
	}
	newest := runs[len(runs)-1]
	s.ledger.trains(newest)
	if err := dispatch.Resume(ctx, s.buses[s.server()], "replaced"); err != nil {
		return err
	}
	if err := s.await(ctx, newest, events.KindModelTrained); err != nil {
		return err
	}
	for _, r := range runs[:len(runs)-1] {
		if err := s.await(ctx, r, events.KindTrainingFailed); err != nil {
			return err
		}
	}
	models, err := s.modelsOf(ctx, "replaced")
	if len(models) != 1 {
		err = errors.Join(err, fmt.Errorf("%d models, not that of the newest run alone", len(models)))
	}
	return err
}

// waitingFewer is waiting where older runs are superseded at once: only the newest waits in the
// end.
func (s *step) waitingFewer(ctx context.Context, name string, count int) (runs []history.Run, err error) {
	if err := s.apply(ctx, s.server(), fmt.Sprintf(narrowText, name, "supersede")); err != nil {
		return nil, err
	}
	if err := dispatch.Pause(ctx, s.buses[s.server()], name); err != nil {
		return nil, err
	}
	for i := range count {
		r := s.run(name, fmt.Sprintf("number %d", i))
		runs = append(runs, r)
		if i < count-1 {
			s.ledger.stopped(r)
		}
		if err := s.publish(ctx, s.r, s.transform(r)); err != nil {
			return nil, err
		}
	}
	return runs, waitFor(ctx, func() bool {
		gate, err := s.index().ReadAdmission(ctx, name)
		if err != nil {
			return false
		}
		_, waits := gate.Ahead(runs[count-1].Run)
		return waits
	})
}

func (s *step) expireStory(ctx context.Context) error {
	r := s.run("brief", "in vain")
	return errors.Join(s.publish(ctx, s.r, s.transform(r)), s.await(ctx, r, events.KindTrainingFailed))
}

func (s *step) latestStory(ctx context.Context) error {
	first, second := s.run("latest", "brings them"), s.run("latest", "takes them")
	if err := s.publish(ctx, s.r, s.hparams(first)); err != nil {
		return err
	}
	model, err := s.trained(ctx, first, s.transform(first))
	if err != nil {
		return err
	}
	taken, err := s.trained(ctx, second, s.transform(second))
	if err == nil && (len(taken.Hyperparameters) == 0 || fmt.Sprint(taken.Hyperparameters) != fmt.Sprint(model.Hyperparameters)) {
		err = fmt.Errorf("trained with %v; the latest were %v", taken.Hyperparameters, model.Hyperparameters)
	}
	return err
}

func (s *step) windowStory(ctx context.Context) error {
	for span := range 5 {
		r := s.run("window", fmt.Sprintf("span-%d", span))
		model, err := s.trained(ctx, r, event(r, "e", &events.ExamplesReady{
			Examples: []events.Examples{{URI: s.at(fmt.Sprintf("tiny/examples-%d", span)), Span: int64(span)}},
		}))
		if err != nil {
			return err
		}
		artifacts := map[string]bool{} // an input is a split of one
		for _, in := range model.Inputs {
			folder, _, _ := strings.Cut(in.URI, "/Split-")
			artifacts[folder] = true
		}
		if want := min(span+1, 3); len(artifacts) != want {
			return fmt.Errorf("span %d was trained on %v, not on %d artifacts", span, artifacts, want)
		}
	}
	return nil
}

func (s *step) tuneStory(ctx context.Context) error {
	r := s.run("tuned", "tuned")
	model, err := s.trained(ctx, r, s.transform(r))
	if err == nil && len(model.Hyperparameters) == 0 {
		err = errors.New("its model names no hyperparameters")
	}
	if err == nil && !s.has(ctx, r, events.KindHParamsReady) {
		err = errors.New("no hyperparameters were announced")
	}
	return err
}

func (s *step) studyStory(ctx context.Context) error {
	if err := s.study(ctx); err != nil {
		return err
	}
	r := s.run(fmt.Sprintf("study-%d", s.n), "study")
	if err := s.await(ctx, r, events.KindModelTrained); err != nil {
		return err
	}
	studies := 0
	for _, err := range s.buses[s.server()].Studies(ctx, r.Pipeline) {
		if err != nil {
			return err
		}
		studies++
	}
	if studies != 1 {
		return fmt.Errorf("%d studies, not one", studies)
	}
	return nil
}

// replayStory loses a model, and has a replay make it again.
func (s *step) replayStory(ctx context.Context) error {
	r := s.run("tiny", "lost")
	f := s.transform(r)
	f.Data.(*events.TransformReady).Force = true // an execution of its own
	model, err := s.trained(ctx, r, f, s.hparams(r))
	if err != nil {
		return err
	}
	if err := s.lose(ctx, model.Model.URI); err != nil {
		return err
	}
	again, err := replay.New(ctx, s.buses[s.server()], s.store, nil)
	if err != nil {
		return err
	}
	plan, err := again.Survey(ctx, replay.Options{})
	if err != nil {
		return err
	}
	var did []string
	err = again.Do(ctx, plan, true, func(p replay.Progress) {
		did = append(did, fmt.Sprintf("%s %s %s", p.Step.Pipeline, p.Step.Run.Run, p.Did))
	})
	want := []string{"tiny " + r.Run + " " + string(replay.Offered), "tiny " + r.Run + " " + string(replay.Trained)}
	if err == nil && strings.Join(did, "; ") != strings.Join(want, "; ") {
		err = fmt.Errorf("the replay did %q, not %q", did, want)
	}
	return err
}

// lose removes the objects of a model.
func (s *step) lose(ctx context.Context, uri string) error {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return err
	}
	for object, err := range s.store.List(ctx, ref) {
		if err == nil {
			err = s.store.Delete(ctx, object.Ref)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lostQueueStory removes the stream of jobs while a job waits.
func (s *step) lostQueueStory(ctx context.Context) error {
	for _, p := range s.processes {
		if p.part.Role == roleWorker {
			p.end(syscall.SIGSTOP)
			defer func() { _ = p.wake() }()
		}
	}
	r := s.run("tiny", "queued")
	s.ledger.trains(r)
	if err := s.publishAll(ctx, s.transform(r), s.hparams(r)); err != nil {
		return err
	}
	err := waitFor(ctx, func() bool {
		join, err := s.index().Join(ctx, runs.Key{Pipeline: r.Pipeline, Run: r.Run})
		if err != nil || join.Current().Job == "" {
			return false
		}
		_, err = s.buses[s.server()].Queued(ctx, join.Current().Job)
		return err == nil
	})
	if err == nil {
		err = s.js.DeleteStream(ctx, "JOBS")
	}
	if err != nil {
		return err
	}
	bus, err := jetstream.Connect(ctx, s.cluster.URL(s.server()), jetstream.Options{Create: true, Replicas: cluster.Size, Lease: lease})
	if err != nil {
		return fmt.Errorf("make JOBS again: %w", err)
	}
	defer bus.Close()
	for _, p := range s.processes {
		if p.part.Role == roleWorker {
			if err := p.wake(); err != nil {
				return err
			}
		}
	}
	return s.await(ctx, r, events.KindModelTrained)
}

// restartStory restarts one server after another, as an upgrade does. A run is trained while a
// server is down, and another one, whose events are published then, while it comes back.
func (s *step) restartStory(ctx context.Context) error {
	for i, server := range s.cluster.Servers {
		down, back := s.run("tiny", fmt.Sprintf("down-%d", i)), s.run("tiny", fmt.Sprintf("back-%d", i))
		s.ledger.trains(down)
		s.ledger.trains(back)
		err := errors.Join(server.Kill(), s.publishAll(ctx, s.transform(down), s.hparams(down)), s.await(ctx, down, events.KindModelTrained))
		if err != nil {
			return fmt.Errorf("%s is down: %w", server.Name, err)
		}
		err = errors.Join(s.publishAll(ctx, s.transform(back), s.hparams(back)), server.Start(), s.cluster.Await(ctx), s.await(ctx, back, events.KindModelTrained))
		if err != nil {
			return fmt.Errorf("%s is back: %w", server.Name, err)
		}
	}
	return nil
}

// collectStory collects all that is older than a moment; that models stay is judged in the end.
func (s *step) collectStory(ctx context.Context) error {
	removed := 0
	err := gc.Collect(ctx, s.buses[s.server()], s.store, gc.Options{Root: s.root, OlderThan: time.Second}, func(gc.Removal) { removed++ })
	if err == nil && removed == 0 {
		err = errors.New("nothing was removed, though a lost model was made again")
	}
	return err
}
