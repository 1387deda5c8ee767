package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/cache"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/console/overview"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/workers"
)

// overviewView is the first page.
type overviewView struct {
	overview.Overview
	Empty       bool // the bus has no run and no pipeline
	Tiles       []tile
	Running     []runningLine
	RunningURL  template.URL
	MoreRunning int // that are not listed
	Queues      []queueLine
	MoreQueues  int    // that are not listed
	QueuesErr   string // why the lengths of the queues aren't known
	Workers     []workerLine
	MoreWorkers int
	WorkersErr  string
	Gone        int
	Failing     []failureLine
	FailedURL   template.URL
	Bars        template.HTML
	Most        int // runs that ended in one hour
	Hourly      []hourLine
	Studies     []studyLine
	MoreStudies int
	StudiesErr  string
}

// tile is one number of the first page, and where it leads.
type tile struct {
	Name, Value, More string
	URL               template.URL
	Class             string
}

// runningLine is a run that a worker works on.
type runningLine struct {
	runLine
	Worker    string // its host; "": not known
	WorkerURL template.URL
}

// queueLine is the queue of a function and a class.
type queueLine struct {
	workers.Queue
	Waiting, Running int
	Oldest           time.Time
	workers.Serving
}

// Stuck reports whether jobs wait for workers that don't exist.
func (q queueLine) Stuck() bool { return q.Waiting > 0 && q.Workers == 0 }

type failureLine struct {
	overview.Failure
	URL, LastURL template.URL
}

type hourLine struct {
	overview.Hour
	TrainedURL, FailedURL template.URL
}

// Limits of the first page.
const (
	overviewFresh   = time.Second // how old its figures may be while runs change
	overviewWorkers = 8
	overviewStudies = 6
	overviewQueues  = 100 // workers name the queues that they serve
)

func (c *Console) overviewPage() page {
	return page{
		nav: "overview", template: "overview", title: func(any) string { return "Overview" }, breath: shortly,
		fragments: []string{"overview-tiles", "overview-running", "overview-queues", "overview-workers", "overview-hours", "overview-failures", "overview-studies"},
		build:     func(r *http.Request) (any, error) { return c.overviewView(r.Context()), nil },
	}
}

func (c *Console) overviewView(ctx context.Context) overviewView {
	now := c.opts.Now()
	view := overviewView{Overview: c.overview.Read(c.model.Watch, now), RunningURL: stateURL(runs.Running, runs.Tuning)}
	here, gone := c.workers.All()
	view.Gone = len(gone)
	view.addWorkers(here)
	if read, fault := c.workers.Status(); !read && fault != "" {
		view.WorkersErr = mask.Text(fault)
	}
	view.addQueues(c.queues.Read(ctx), here)
	view.addRunning(c.model, workers.Holders(here))
	view.addHours()
	for _, f := range view.Failures {
		view.Failing = append(view.Failing, failureLine{f, link("/runs", "q", f.Query), link("/run", "pipeline", f.Last.Pipeline, "run", f.Last.Run)})
	}
	view.addStudies(c.running.Read(ctx))
	view.tiles(here)
	pipelines := 0
	c.model.View(func(x *runs.Index) { pipelines = len(c.model.pipelines(x)) })
	view.Empty = pipelines == 0
	return view
}

// stateURL returns the address of the list of runs in some states.
func stateURL(states ...string) template.URL {
	return link("/runs", "q", "state="+strings.Join(states, ","))
}

// sinceURL returns the address of the list of runs that reached one of some states since a time.
func sinceURL(since time.Time, more string, states ...string) template.URL {
	return link("/runs", "q", strings.TrimSpace("state="+strings.Join(states, ",")+" "+overview.SinceQuery(since)+" "+more))
}

func (v *overviewView) addWorkers(here []workers.Worker) {
	shown := slices.Clone(here)
	slices.SortStableFunc(shown, func(a, b workers.Worker) int { return cmp.Compare(presenceOrder(a), presenceOrder(b)) })
	v.MoreWorkers = max(0, len(shown)-overviewWorkers)
	for _, w := range shown[:len(shown)-v.MoreWorkers] {
		v.Workers = append(v.Workers, lineOfWorker(w))
	}
}

// presenceOrder puts workers that need attention first.
func presenceOrder(w workers.Worker) int {
	switch w.Presence {
	case events.WorkerIsLate:
		return 0
	case events.WorkerDraining:
		return 1
	}
	return 2
}

// addQueues lists the queues with jobs or workers: as the bus has them, and those of waiting runs
// for which it has none, because no worker of their class has ever run.
func (v *overviewView) addQueues(known cache.Polled[[]events.QueueState], here []workers.Worker) {
	if known.Err != nil {
		v.QueuesErr = mask.Text(known.Err.Error())
	}
	serving, lines := workers.ByQueue(here), map[workers.Queue]queueLine{}
	for q, by := range serving {
		lines[q] = queueLine{Queue: q, Serving: by}
	}
	for _, state := range known.Value {
		q := workers.Queue{Function: state.Function, Class: state.Class}
		if _, served := serving[q]; served || state.Waiting+state.Running > 0 {
			lines[q] = queueLine{q, int(state.Waiting), int(state.Running), state.Oldest, serving[q]}
		}
	}
	for _, q := range v.Queued {
		if line := lines[q.Queue]; line.Waiting+line.Running == 0 {
			lines[q.Queue] = queueLine{Queue: q.Queue, Waiting: q.Runs, Oldest: q.Oldest, Serving: line.Serving}
		}
	}
	for _, line := range lines {
		v.Queues = append(v.Queues, line)
	}
	waits := func(q queueLine) int { return map[bool]int{true: 0, false: 1}[q.Waiting+q.Running > 0] }
	// Those with jobs stay.
	if v.MoreQueues = max(0, len(v.Queues)-overviewQueues); v.MoreQueues > 0 {
		slices.SortFunc(v.Queues, func(a, b queueLine) int { return cmp.Or(cmp.Compare(waits(a), waits(b)), a.Compare(b.Queue)) })
		v.Queues = v.Queues[:overviewQueues]
	}
	slices.SortFunc(v.Queues, func(a, b queueLine) int { return a.Compare(b.Queue) })
}

// addRunning lists the active runs with the workers that hold their jobs.
func (v *overviewView) addRunning(m *model, holders map[string]workers.Worker) {
	m.View(func(x *runs.Index) {
		for _, one := range v.Active {
			r, known := m.run(x, one.Key())
			if !known {
				continue
			}
			line := runningLine{runLine: r.line()}
			if p := line.Progress; p != nil && line.Metric == "" {
				line.Metric, line.Value = leading(p.Metrics)
			}
			if w, held := holders[r.Lease.Holder]; held && r.Lease.Holder != "" {
				line.Worker, line.WorkerURL = w.Host, workerURL(w.ID)
			}
			v.Running = append(v.Running, line)
		}
	})
	v.MoreRunning = v.States[runs.Running] + v.States[runs.Tuning] - len(v.Active)
}

// addHours draws what ended in each hour.
func (v *overviewView) addHours() {
	bars := make([]chart.Bar, 0, overview.Hours)
	for i, h := range v.Hours {
		until := ""
		if i < overview.Hours-1 {
			until = "until=" + h.Begins.Add(time.Hour).Format("2006-01-02T15:04")
		}
		line := hourLine{h, sinceURL(h.Begins, until, runs.Trained), sinceURL(h.Begins, until, runs.Failed, runs.Expired)}
		v.Most = max(v.Most, h.Trained+h.Failed)
		v.Hourly = append(v.Hourly, line)
		bars = append(bars, chart.Bar{
			Good: h.Trained, Bad: h.Failed, URL: sinceURL(h.Begins, until, runs.Trained, runs.Failed, runs.Expired),
			Title: fmt.Sprintf("%s UTC: %s trained, %s failed", h.Begins.Format("15:04"), thousands(h.Trained), thousands(h.Failed)),
		})
	}
	v.Bars = chart.Bars(bars)
	slices.Reverse(v.Hourly)
	v.FailedURL = sinceURL(v.Since, "", runs.Failed, runs.Expired)
}

func (v *overviewView) addStudies(known cache.Polled[[]summary]) {
	if known.Err != nil {
		v.StudiesErr = mask.Text(known.Err.Error())
	}
	for _, one := range known.Value {
		if len(v.Studies) < overviewStudies {
			v.Studies = append(v.Studies, lineOfStudy(one))
		}
	}
	v.MoreStudies = len(known.Value) - len(v.Studies)
}

// runningStudies returns the studies that run.
func (c *Console) runningStudies(ctx context.Context) ([]summary, error) {
	all, err := c.studies.list(ctx, "")
	return slices.DeleteFunc(all, func(s summary) bool { return s.State != studyRunning }), err
}

// tiles sets the numbers at the head of the page.
func (v *overviewView) tiles(here []workers.Worker) {
	alive, busy, slots := 0, 0, 0
	for _, w := range here {
		if w.IsAlive() {
			alive, busy, slots = alive+1, busy+w.Busy, slots+w.Slots
		}
	}
	stuck := slices.ContainsFunc(v.Queues, queueLine.Stuck)
	running, queued := v.States[runs.Running]+v.States[runs.Tuning], v.States[runs.Queued]+v.States[runs.Held]
	v.Tiles = []tile{
		{"Running", thousands(running), moreThan(v.States[runs.Tuning], "tuning"), v.RunningURL, ""},
		{"Queued", thousands(queued), moreThan(v.States[runs.Held], "held back"), stateURL(runs.Queued, runs.Held), map[bool]string{true: "bad"}[stuck]},
		{"Workers", thousands(alive), fmt.Sprintf("%s of %s slots busy", thousands(busy), thousands(slots)), "/workers", map[bool]string{true: "bad"}[alive == 0 && queued > 0]},
		{"Trained", thousands(v.Trained), "in 24 hours", sinceURL(v.Since, "", runs.Trained), ""},
		{"Failed", thousands(v.Failed), "in 24 hours", v.FailedURL, map[bool]string{true: "bad"}[v.Failed > 0]},
	}
}

func moreThan(n int, what string) string {
	if n == 0 {
		return ""
	}
	return thousands(n) + " " + what
}
