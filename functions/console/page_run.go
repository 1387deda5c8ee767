package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// runView is one run.
type runView struct {
	runLine
	Events     []eventLine
	Expires    time.Time
	Job        string
	Revision   uint64
	Attempt    string // its worker, and how earlier attempts ended
	Heartbeat  time.Time
	Charts     []chartView
	ChartNote  string
	Study      *events.Study
	StudyURL   template.URL
	Compare    template.URL
	Lineage    template.URL
	Trained    *events.ModelTrained
	Metrics    []nameValue
	Hyper      []nameValue
	Outputs    []outputLine
	Failure    string // what a failure says in addition to What
	Log        string
	LogWhole   bool
	LogURL     template.URL
	LogNote    string
	LogLive    bool   // more of it may come
	DeadLetter uint64 // its newest dead letter
	Commands   []commandLine
	CanCancel  bool
	Config     string // the pipeline that it is made from, with its defaults, as JSON; "" if that is not known
	Settings   string // what its model was trained with, as JSON; "" if the module did not say
	CanRerun   bool   // it has ended, and its inputs may be started again
	Applied    uint64 // the revision of its pipeline that is applied now; 0: none is
}

// factLine is one fact of a run.
type eventLine struct {
	Sequence uint64
	Kind     events.Kind
	Source   string
	ID       string
	Stored   time.Time
	Ignored  string // why it has no effect on the run

	event runs.RunEvent
}

// nameValue is a line of a small table.
type nameValue struct {
	Name, Value string
}

// outputLine is something a run has left in the store.
type outputLine struct {
	Name, Address string
	Browse        template.URL
}

// commandLine is a command to copy, and what it is for.
type commandLine struct{ For, Text string }

// chartView is a chart ready to be drawn.
type chartView struct {
	ID, Metric, Axis string
	Lines            []string
	SVG              template.HTML
	Data             string
}

func (c *Console) runPage() page {
	return page{
		nav: "runs", template: "run", title: func(view any) string { v := view.(runView); return v.Run + " · " + v.Pipeline },
		fragments: []string{"run-head", "run-result", "run-charts", "run-facts", "run-log", "run-config"},
		build:     func(r *http.Request) (any, error) { return c.runView(r) },
		breath: func(view any) time.Duration {
			if view.(runView).State.State == runs.Running {
				return shortBreath
			}
			return breath
		},
	}
}

func (c *Console) runView(r *http.Request) (runView, error) {
	k := key{r.FormValue("pipeline"), r.FormValue("run")}
	if err := errors.Join(events.CheckName("pipeline", k.pipeline), events.CheckRun("run", k.run)); err != nil {
		return runView{}, badRequest("%s", err)
	}
	history, err := c.readHistory(r.Context(), k)
	if err != nil {
		return runView{}, err
	}
	view := c.fromModel(k, history)
	view.Events, view.Trained = history.evs, history.trained
	view.Config = c.configuration(r.Context(), k.pipeline, view.Revision)
	if history.trained != nil && len(history.trained.Settings) > 0 {
		view.Settings = indented(mask.JSON(history.trained.Settings))
	}
	c.addCharts(r.Context(), &view, history)
	c.addStudy(r.Context(), &view, history)
	if view.Trained != nil && view.State.State == runs.Trained {
		view.addModel(c.opts.Root)
	}
	c.addLog(r.Context(), &view, history)
	view.addCommands(c)
	return view, nil
}

// fromModel is a run by the model; a run that was dropped from memory, by its events.
func (c *Console) fromModel(k key, history runHistory) (view runView) {
	c.model.mu.RLock()
	defer c.model.mu.RUnlock()
	r := c.model.runs[k]
	if r == nil {
		history.record.refresh(known{c.model})
		return runView{runLine: history.record.line(), DeadLetter: c.model.dead.newest[k]}
	}
	view = runView{runLine: r.line(), Job: r.job(), Revision: r.join.Current().Revision}
	view.CanRerun = r.state.Over()
	view.Applied = c.model.specs[k.pipeline].revision
	if r.joined {
		c.model.markIgnored(r, history.evs)
	}
	if spec, err := (known{c.model}).Spec(k.pipeline, r.join.Stage(events.FunctionTrain).Revision); err == nil && r.state.State == runs.Waiting && r.joined {
		view.Expires, _ = r.join.Deadline(spec)
	}
	if lease, there := c.model.leases[r.job()]; there && !r.state.Over() {
		view.Attempt = attemptLine(lease.Lease)
		if lease.Holder != "" {
			view.Heartbeat = lease.Written
		}
	}
	view.DeadLetter = c.model.dead.newest[k]
	view.CanCancel = !r.state.Over() && r.state.State != runs.Unclear
	view.Charts = viewsOf(r.curves.charts())
	return view
}

func attemptLine(lease events.Lease) string {
	if lease.Number == 0 {
		return ""
	}
	line := fmt.Sprintf("attempt %d", lease.Number)
	for _, kind := range slices.Sorted(maps.Keys(lease.Failures)) {
		ended := string(kind)
		if kind == events.FailureUnavailable {
			ended = "handed back or lost"
		}
		line += fmt.Sprintf(", %d ended before: %s", lease.Failures[kind], ended)
	}
	return line
}

func viewsOf(charts []chart) (views []chartView) {
	for _, c := range charts {
		data, err := c.data()
		if err != nil {
			continue // can't happen: values are finite
		}
		view := chartView{ID: "chart-" + slug(c.metric+"-"+c.axis), Metric: c.metric, Axis: c.axis, SVG: c.svg(), Data: data}
		for _, line := range c.lines {
			view.Lines = append(view.Lines, cmp.Or(line.name(), c.metric))
		}
		views = append(views, view)
	}
	return views
}

// slug is a text as an id.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
}

// addCharts reads the curves of a run that has ended from its run log: these are complete.
func (c *Console) addCharts(ctx context.Context, view *runView, history runHistory) {
	view.Compare = link("/compare", "run", view.Key)
	if history.trained == nil || history.trained.ModelRun == "" || !view.State.Over() {
		return
	}
	ref, err := c.ours(history.trained.ModelRun)
	if err != nil {
		view.ChartNote = err.Error()
		return
	}
	log := c.curves.read(ctx, ref.String())
	view.ChartNote = log.note
	if len(log.charts) > 0 {
		view.Charts = viewsOf(log.charts)
	}
}

func (c *Console) addStudy(ctx context.Context, view *runView, history runHistory) {
	c.model.mu.RLock()
	var job string
	if r := c.model.runs[key{view.Pipeline, view.Run}]; r != nil {
		job = r.join.Stage(events.FunctionTune).Job
	}
	c.model.mu.RUnlock()
	name, found := c.studies.ofJob(ctx, view.Pipeline, job)
	if !found && history.hparams != nil {
		name, found = c.studies.at(ctx, view.Pipeline, history.hparams.Study)
	}
	if found {
		view.Study, view.StudyURL = &name, link("/study", "pipeline", name.Pipeline, "id", name.ID)
	}
}

// rerunView is the button that starts the inputs of a run again.
type rerunView struct {
	Pipeline, Run string
	Applied       uint64
}

// Rerun is the button of the run.
func (v runView) Rerun() rerunView { return rerunView{v.Pipeline, v.Run, v.Applied} }

func (v *runView) addModel(root storage.Ref) {
	t := v.Trained
	v.Lineage = link("/lineage", "pipeline", v.Pipeline, "run", v.Run)
	for _, name := range slices.Sorted(maps.Keys(t.Metrics)) {
		v.Metrics = append(v.Metrics, nameValue{name, short(t.Metrics[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Hyperparameters)) {
		value := fmt.Sprint(t.Hyperparameters[name])
		if mask.Name(name) {
			value = mask.Hidden
		}
		v.Hyper = append(v.Hyper, nameValue{name, value})
	}
	add := func(name, address string) {
		if address != "" {
			v.Outputs = append(v.Outputs, outputLine{name, address, link("/artifact", "ref", address)})
		}
	}
	for _, format := range t.Model.Formats {
		add(format, t.Model.URI+"/"+format)
	}
	add("model run", t.ModelRun)
	for _, input := range t.Inputs {
		if ref, err := storage.ParseRef(input.URI); err == nil {
			if _, below := ref.Below(root); below {
				add("input: "+input.Type, input.URI)
			}
		}
	}
}
