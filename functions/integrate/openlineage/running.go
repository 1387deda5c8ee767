package openlineage

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// runningEvery is how often an active run is sent.
const runningEvery = 30 * time.Second

// running is what is known of a job that reports progress.
type running struct {
	function events.Function // "": not sent
	salt     string
	last     time.Time // sent
}

// watch sends active runs now and then. One that can't be sent is lost: the next is as good.
func (x *Exporter) watch(ctx context.Context) {
	for ctx.Err() == nil {
		jobs := map[string]*running{}
		for p, err := range x.Bus.Watch(ctx, x.Pipeline, "") {
			if err != nil {
				break
			}
			x.heard(ctx, jobs, p, time.Now())
		}
		rest(ctx, pause)
	}
}

// maxRunning limits what is remembered of jobs. Those that report still are looked up once more.
const maxRunning = 10_000

func (x *Exporter) heard(ctx context.Context, jobs map[string]*running, p events.Progress, now time.Time) {
	key := p.Job
	if trial, ok := trialIn(p); ok {
		key += " " + trial
	}
	r := jobs[key]
	if r == nil {
		if len(jobs) >= maxRunning {
			clear(jobs)
		}
		r = x.lookUp(ctx, p)
		jobs[key] = r
	}
	if r.function == "" || now.Sub(r.last) < runningEvery && !r.last.IsZero() {
		return
	}
	e := x.Converter.Progress(r.function, r.salt, p)
	if r.last.IsZero() { // its first report
		begun := e
		begun.Type = Start
		if err := x.Sender.Send(ctx, begun); err != nil {
			return
		}
	}
	if err := x.Sender.Send(ctx, e); err != nil {
		x.log().Debug("report not accepted", "job", p.Job, "error", err)
		return
	}
	r.last = now
}

// lookUp finds out what a job is: a run's training or its search, by its join, or a trial of that
// search. Unknown jobs are not sent while they run.
func (x *Exporter) lookUp(ctx context.Context, p events.Progress) *running {
	index := runs.Open(x.Bus, runs.Options{})
	join, err := index.Join(ctx, runs.Key{Pipeline: p.Pipeline, Run: p.Run})
	if err != nil {
		return &running{}
	}
	stage := join.Stage(events.FunctionTrain)
	_, ofTrial := trialIn(p)
	if stage.Job != p.Job {
		stage = join.Stage(events.FunctionTune)
		if !stage.Exists() || !ofTrial && stage.Job != p.Job {
			return &running{}
		}
	}
	pinned, err := index.ReadPipeline(ctx, p.Pipeline, stage.Revision)
	if err != nil {
		return &running{}
	}
	job, err := join.Job(pinned.Spec, stage.Function, stage.Retry)
	if err != nil {
		return &running{}
	}
	return &running{function: stage.Function, salt: job.Salt}
}
