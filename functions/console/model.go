package console

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/runs"
)

// key identifies a run.
type key = runs.Key

// model is the console's copy of the bus: the index of runs, the reports of jobs, and the dead
// letters. View and Change guard all of it.
type model struct {
	*runs.Watch
	deadQueue events.DeadLetterQueue
	limit     int
	reports   map[key]*reported
	curved    []key // runs with curves, the most recently updated last
	dead      deadLetters
	deadRead  deadReader
}

// reported has the reports of the jobs of a run.
type reported struct {
	progress *events.Progress // the last one, while the run is in progress
	pace     pace
	curves   chart.Curves
}

func newModel(bus events.Bus, limit int) *model {
	return &model{Watch: runs.NewWatch(bus, limit), deadQueue: bus, limit: limit, reports: map[key]*reported{}}
}

// follow keeps the model up to date until ctx ends. It retries a part of the bus that is away.
func (c *Console) follow(ctx context.Context) error {
	return c.model.Follow(ctx, runs.Handler{
		Progress: c.model.progress,
		More: map[string]func(context.Context) error{
			events.StreamDead: c.model.followDead,
			"sparks":          func(ctx context.Context) error { c.sparks.run(ctx); return nil },
			"queues":          func(ctx context.Context) error { c.queues.Run(ctx, c.redraw); return nil },
			"studies":         func(ctx context.Context) error { c.running.Run(ctx, c.redraw); return nil },
			"workers":         func(ctx context.Context) error { return c.workers.Follow(ctx, c.opts.Bus, c.redraw) },
			"batches":         c.runBatches,
		},
		Away: func(part string, err error) {
			c.opts.Logger.Warn("part of the bus not followed; retrying", "part", part, "error", err)
		},
	})
}

// redraw lets pages that follow show what has changed outside of the model.
func (c *Console) redraw() { c.model.Change(func(*runs.Index) {}) }

// progress adds a report. If its run is unknown, the run's event has not arrived yet, or the run
// was dropped.
func (m *model) progress(p events.Progress) {
	m.Change(func(x *runs.Index) {
		k := key{Pipeline: p.Pipeline, Run: p.Run}
		run, known := x.Run(k)
		if !known || run.Over() && run.Last.Updated.After(p.Time) {
			return
		}
		if len(m.reports) > m.limit { // including those of runs that were dropped
			maps.DeleteFunc(m.reports, func(k key, _ *reported) bool { _, known := x.Run(k); return !known })
		}
		r := m.reports[k]
		if r == nil {
			r = &reported{}
			m.reports[k] = r
		}
		had := len(r.curves) > 0
		r.add(p)
		if len(r.curves) > 0 {
			m.touch(k, had)
		}
	})
}

// maxLive is the number of runs whose curves are kept in memory. Others are read from the store.
const maxLive = 48

// touch records that a run's curves have grown, and drops those of the least recently updated run.
func (m *model) touch(k key, had bool) {
	if had {
		if last := len(m.curved) - 1; last >= 0 && m.curved[last] == k {
			return
		}
		m.curved = slices.DeleteFunc(m.curved, func(other key) bool { return other == k })
	}
	m.curved = append(m.curved, k)
	if len(m.curved) > maxLive {
		if oldest := m.reports[m.curved[0]]; oldest != nil {
			oldest.curves = nil
		}
		m.curved = slices.Delete(m.curved, 0, 1)
	}
}

// add adds a report of the run's job.
func (r *reported) add(p events.Progress) {
	if r.progress != nil && (r.progress.Attempt != p.Attempt || r.progress.Job != p.Job) {
		r.pace = pace{}
	}
	metrics := p.Metrics
	if r.progress != nil && r.progress.Attempt == p.Attempt {
		p.Metrics = latest(r.progress.Metrics, metrics)
	}
	if p.Step == 0 && r.progress != nil && r.progress.Job == p.Job {
		p.Step, p.Steps = r.progress.Step, r.progress.Steps
	} else {
		r.pace.at(p.Step, p.Time)
	}
	r.progress = &p
	if !strings.HasPrefix(p.Phase, "trial ") && len(metrics) > 0 {
		r.curves.Add(p.Step, p.Time, metrics)
	}
}

// latest returns the last known value of each metric: a report need not have all of them.
func latest(known, reported map[string]float64) map[string]float64 {
	if len(known) == 0 || len(known)+len(reported) > 2*chart.MaxCurves {
		return reported
	}
	all := maps.Clone(known)
	maps.Copy(all, reported)
	return all
}

// run is a run of the index with the reports of its jobs.
type run struct {
	runs.Run
	reported
}

// run returns a run; false if it is not known, or was dropped. It is called in View.
func (m *model) run(x *runs.Index, k key) (r run, known bool) {
	if r.Run, known = x.Run(k); known {
		r.reported, r.Updated = m.reportOf(r.Summary)
	}
	return r, known
}

// reportOf returns the reports of a run's jobs that matter in its state, and when the run was
// updated. Progress matters while the run is not over.
func (m *model) reportOf(s runs.Summary) (r reported, updated time.Time) {
	kept := m.reports[s.Key()]
	if kept == nil {
		return r, s.Updated
	}
	r = *kept
	if s.Over() {
		r.progress = nil
	} else if r.progress != nil && r.progress.Time.After(s.Updated) {
		return r, r.progress.Time
	}
	return r, s.Updated
}

// states returns the states of all runs, in no order. It is called in View.
func (m *model) states(x *runs.Index) []runs.Summary {
	all := slices.AppendSeq(make([]runs.Summary, 0, x.Len()), x.States())
	for i := range all {
		_, all[i].Updated = m.reportOf(all[i])
	}
	return all
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// pace is the speed of a job, according to its reports of the last half minute or so.
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

// speed returns the speed in steps a second; 0 if it is not known.
func (p *pace) speed() float64 {
	elapsed := p.to.time.Sub(p.older.time).Seconds()
	if elapsed <= 0 || p.to.step <= p.older.step {
		return 0
	}
	return float64(p.to.step-p.older.step) / elapsed
}

// left returns how long the remaining steps take at that speed; 0 if it is not known.
func (p *pace) left(step, steps int) time.Duration {
	speed := p.speed()
	if speed == 0 || steps <= step {
		return 0
	}
	return time.Duration(float64(steps-step) / speed * float64(time.Second))
}
