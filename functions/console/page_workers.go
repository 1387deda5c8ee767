package console

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs/workers"
)

// workersView is the list of workers.
type workersView struct {
	Query       string
	Sort        string
	Heads       []sortHead
	Workers     []workerLine // that are not gone
	Gone        []workerLine
	Leaf        leaf
	Known       int // that are not gone, whatever the filter selects
	Alive       int
	Busy, Slots int
	Err         string // why they can't be read
}

// workerLine is a worker of a list.
type workerLine struct {
	workers.Worker
	URL      template.URL
	Jobs     []heldJob
	MoreJobs int // that it holds besides
}

// heldJob is a job that a worker reports to hold.
type heldJob struct {
	events.WorkerJob
	URL template.URL
}

// workerView is the page of one worker.
type workerView struct {
	workerLine
	Commands []commandLine
}

// Limits of the lists.
const (
	workersPerPage = 100
	jobsOfLine     = 3
	maxGoneListed  = 30
)

func (c *Console) workersPage() page {
	return page{
		nav: "workers", template: "workers", title: func(any) string { return "Workers" }, fragments: []string{"workers-head", "workers-table"},
		build: func(r *http.Request) (any, error) { return c.workersView(r), nil },
	}
}

func (c *Console) workerPage() page {
	return page{
		nav: "workers", template: "worker", title: func(view any) string { return "Worker " + view.(workerView).ID }, fragments: []string{"worker-state", "worker-jobs"},
		build: func(r *http.Request) (any, error) { return c.workerView(r) },
	}
}

func workerURL(id string) template.URL { return template.URL("/workers/" + url.PathEscape(id)) }

func lineOfWorker(w workers.Worker) workerLine {
	line := workerLine{Worker: w, URL: workerURL(w.ID), MoreJobs: w.MoreJobs}
	for _, job := range w.Jobs {
		line.Jobs = append(line.Jobs, heldJob{job, link("/run", "pipeline", job.Pipeline, "run", job.Run)})
	}
	return line
}

// short leaves out jobs beyond those that a list shows.
func (l workerLine) short() workerLine {
	if more := len(l.Jobs) - jobsOfLine; more > 0 {
		l.Jobs, l.MoreJobs = l.Jobs[:jobsOfLine], l.MoreJobs+more
	}
	return l
}

// Claims returns the functions that the worker serves.
func (l workerLine) Claims() string {
	words := make([]string, len(l.Functions))
	for i, f := range l.Functions {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}

// Devices returns the GPUs that its modules may use, equal ones once.
func (l workerLine) Devices() (devices []string) {
	for i := 0; i < len(l.GPUs); {
		same := 1
		for i+same < len(l.GPUs) && l.GPUs[i+same] == l.GPUs[i] {
			same++
		}
		device := l.GPUs[i]
		if same > 1 {
			device = fmt.Sprintf("%d × %s", same, device)
		}
		devices = append(devices, device)
		i += same
	}
	return devices
}

// Why says what the presence of a worker means, if it needs a word.
func (l workerLine) Why() string {
	switch {
	case l.Presence == events.WorkerIsLate:
		return "no heartbeat for more than " + lasts(events.WorkerLate) + ": cut off, frozen or dead"
	case l.Presence == events.WorkerDraining:
		return "claims no more jobs, and ends soon"
	case l.Ended:
		return "it has ended"
	case l.Presence == events.WorkerGone:
		return "no heartbeat for more than " + lasts(events.WorkerKept)
	}
	return ""
}

func (c *Console) workersView(r *http.Request) workersView {
	here, gone := c.workers.All()
	view := workersView{Query: strings.TrimSpace(r.FormValue("q")), Known: len(here)}
	if read, fault := c.workers.Status(); fault != "" {
		view.Err = mask.Text(fault)
	} else if !read {
		view.Err = "their heartbeats are still being read"
	}
	for _, w := range here {
		if w.IsAlive() {
			view.Alive, view.Busy, view.Slots = view.Alive+1, view.Busy+w.Busy, view.Slots+w.Slots
		}
	}
	query := strings.ToLower(view.Query)
	shown := slices.DeleteFunc(here, func(w workers.Worker) bool { return !strings.Contains(wordsOf(w), query) })
	view.Sort = sortBy(shown, workerColumns, r.FormValue("sort"), workerColumns[0].name)
	for _, column := range workerColumns {
		view.Heads = append(view.Heads, column.head(view.Sort, func(sort string) template.URL {
			return link("/workers", "q", view.Query, "sort", sort)
		}))
	}
	shown, view.Leaf = leafOf(r, shown, workersPerPage)
	for _, w := range shown {
		view.Workers = append(view.Workers, lineOfWorker(w).short())
	}
	for _, w := range gone {
		if len(view.Gone) < maxGoneListed && strings.Contains(wordsOf(w), query) {
			view.Gone = append(view.Gone, lineOfWorker(w).short())
		}
	}
	return view
}

// wordsOf returns what a filter of workers looks in, in lower case.
func wordsOf(w workers.Worker) string {
	words := append([]string{w.ID, w.Host, w.Version, string(w.Presence)}, w.Classes...)
	for _, f := range w.Functions {
		words = append(words, string(f))
	}
	for _, job := range w.Jobs {
		words = append(words, job.Pipeline+"/"+job.Run)
	}
	return strings.ToLower(strings.Join(append(words, w.GPUs...), " "))
}

// workerColumns are those of the table; the first is the default.
var workerColumns = []sortColumn[workers.Worker]{
	{"worker", "Worker", false, func(a, b workers.Worker) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.ID, b.ID))
	}},
	{"state", "State", false, func(a, b workers.Worker) int { return cmp.Compare(presenceOrder(a), presenceOrder(b)) }},
	{"slots", "Slots", true, func(a, b workers.Worker) int {
		return cmp.Or(cmp.Compare(a.Busy, b.Busy), cmp.Compare(a.Slots, b.Slots))
	}},
	{"class", "Claims", false, func(a, b workers.Worker) int { return slices.Compare(a.Classes, b.Classes) }},
	{"jobs", "Jobs", false, func(a, b workers.Worker) int { return cmp.Compare(len(a.Jobs)+a.MoreJobs, len(b.Jobs)+b.MoreJobs) }},
	{"devices", "Devices", false, func(a, b workers.Worker) int { return slices.Compare(a.GPUs, b.GPUs) }},
	{"version", "Version", false, func(a, b workers.Worker) int { return strings.Compare(a.Version, b.Version) }},
	{"started", "Started", true, func(a, b workers.Worker) int { return a.Started.Compare(b.Started) }},
	{"heartbeat", "Heartbeat", true, func(a, b workers.Worker) int { return a.Heard.Compare(b.Heard) }},
}

func (c *Console) workerView(r *http.Request) (view workerView, err error) {
	id := r.PathValue("id")
	if err := events.CheckName("id", id); err != nil {
		return view, badRequest("%s", err)
	}
	w, known := c.workers.Worker(id)
	if !known {
		return view, notThere("No worker %s has reported itself within the last hour.", id)
	}
	view = workerView{workerLine: lineOfWorker(w)}
	f := frame{c: c}
	view.Commands = []commandLine{{"Show it in a terminal", f.Command("workers", "show", quoted(id))}}
	return view, nil
}
