package console

import (
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
)

// key names a run.
type key struct{ pipeline, run string }

// run is what is kept of one in memory. What only its own page shows, that page reads.
type run struct {
	key
	since    time.Time // when its first fact was stored
	join     join.Join // without what its facts named
	joined   bool
	last     runs.LastOutcome
	state    runs.State
	progress *events.Progress // the last, while it is worked on
	pace     pace
	curves   curves
	ended    ended
}

// ended is what is kept of the event with the outcome.
type ended struct {
	finished time.Time
	took     time.Duration
	cached   bool
	metrics  map[string]float64
	modelRun string
	log      string
}

// add adds an event of the run.
func (r *run) add(recorded events.Recorded) {
	if r.since.IsZero() || recorded.Message.Stored.Before(r.since) {
		r.since = recorded.Message.Stored
	}
	switch data := recorded.Event.Data.(type) {
	case *events.ModelTrained:
		r.last = r.last.Then(runs.OutcomeOf(recorded))
		r.ended = ended{
			finished: data.Finished, took: data.Finished.Sub(data.Started), cached: data.Cached, metrics: data.Metrics, modelRun: data.ModelRun,
		}
		r.progress = nil
	case *events.TrainingFailed:
		r.last = r.last.Then(runs.OutcomeOf(recorded))
		if events.EndsRun(recorded.Event) {
			r.ended, r.progress = ended{finished: recorded.Message.Stored, log: data.Log}, nil
		}
	}
}

// take stores the run's join, without what its events named, which is large.
func (r *run) take(j join.Join) {
	for i := range j.Events {
		j.Events[i].Inputs = events.Inputs{}
	}
	for i := range j.Stages {
		j.Stages[i].Latest = join.Latest{}
	}
	r.join, r.joined = j, true
	if len(j.Events) > 0 && (r.since.IsZero() || j.Events[0].Stored.Before(r.since)) {
		r.since = j.Events[0].Stored
	}
}

// job is the current or last job.
func (r *run) job() string {
	return r.join.Current().Job
}

// report stores the progress of its job.
func (r *run) report(p events.Progress) {
	if r.progress != nil && (r.progress.Attempt != p.Attempt || r.progress.Job != p.Job) {
		r.pace = pace{}
	}
	metrics := p.Metrics
	if len(metrics) == 0 && r.progress != nil && r.progress.Attempt == p.Attempt {
		p.Metrics = r.progress.Metrics // those that were known last
	}
	if p.Step == 0 && r.progress != nil && r.progress.Job == p.Job {
		p.Step, p.Steps = r.progress.Step, r.progress.Steps
	} else {
		r.pace.at(p.Step, p.Time)
	}
	r.progress = &p
	if !strings.HasPrefix(p.Phase, "trial ") && len(metrics) > 0 {
		r.curves.add(p.Step, metrics)
	}
}

// refresh derives the state anew. What can't be read is part of it.
func (r *run) refresh(known runs.Source) {
	before := r.state
	var err error
	if r.joined {
		r.state, err = runs.Of(r.join, r.last, known)
	} else {
		r.state = r.last.State
	}
	if r.state.State == "" {
		r.state.State, r.state.Updated = runs.Waiting, r.since
	}
	if err != nil {
		r.state.State, r.state.Error = runs.Unclear, err.Error()
	}
	r.state.Pipeline, r.state.Run = r.pipeline, r.key.run
	if r.state.Updated.Before(before.Updated) && !r.state.Over() {
		r.state.Updated = before.Updated
	}
	if r.state.Over() {
		r.progress = nil
	}
}

// pace is the speed of a job, by its reports of the last half minute or so.
type pace struct {
	from, to mark
	older    mark
}

// mark is a step and when it was reached.
type mark struct {
	step int
	time time.Time
}

// paceWindow is how long a mark counts.
const paceWindow = 15 * time.Second

func (p *pace) at(step int, now time.Time) {
	if p.to.time.IsZero() || step < p.to.step {
		*p = pace{from: mark{step, now}, older: mark{step, now}}
	}
	p.to = mark{step, now}
	if now.Sub(p.from.time) > paceWindow {
		p.older, p.from = p.from, p.to
	}
}

// speed is in steps a second; 0 if it is not known.
func (p *pace) speed() float64 {
	elapsed := p.to.time.Sub(p.older.time).Seconds()
	if elapsed <= 0 || p.to.step <= p.older.step {
		return 0
	}
	return float64(p.to.step-p.older.step) / elapsed
}

// left is how long the rest of the steps takes at that speed; 0 if it is not known.
func (p *pace) left(step, steps int) time.Duration {
	speed := p.speed()
	if speed == 0 || steps <= step {
		return 0
	}
	return time.Duration(float64(steps-step) / speed * float64(time.Second))
}
