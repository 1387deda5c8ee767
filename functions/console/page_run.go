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
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// runView is one run.
type runView struct {
	runLine
	Events     []runs.Event
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
	Failure    string // details of a failure in addition to What
	Log        string
	LogWhole   bool
	LogURL     template.URL
	LogNote    string
	LogLive    bool   // there may be more of it
	DeadLetter uint64 // its newest dead letter

	EndedWithoutJob bool // its dead letter can't be retried
	Commands        []commandLine
	CanCancel       bool
	// The pipeline that it is made from, with its defaults, as JSON; "" if that is not known.
	Config   string
	Settings string // the settings of its model's training, as JSON; "" if the module reported none
	CanRerun bool   // it has ended, and its inputs may be started again
	Applied  uint64 // the revision of its pipeline that is applied now; 0: none is
}

// nameValue is a line of a small table.
type nameValue struct {
	Name, Value string
}

// outputLine is an output of a run in the store.
type outputLine struct {
	Name, Address string
	Browse        template.URL
}

// commandLine is a command to copy, and its purpose.
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
		fragments: []string{"run-head", "run-result", "run-charts", "run-events", "run-log", "run-config"},
		build:     func(r *http.Request) (any, error) { return c.runView(r) },
		breath: func(view any) time.Duration {
			if view.(runView).State == runs.Running {
				return shortBreath
			}
			return breath
		},
	}
}

func (c *Console) runView(r *http.Request) (runView, error) {
	k := key{Pipeline: r.FormValue("pipeline"), Run: r.FormValue("run")}
	if err := errors.Join(events.CheckName("pipeline", k.Pipeline), events.CheckRun("run", k.Run)); err != nil {
		return runView{}, badRequest("%s", err)
	}
	logged, err := c.readLog(r.Context(), k)
	if err != nil {
		return runView{}, err
	}
	view, join := c.runOf(k, logged)
	timeline := logged.Timeline
	view.Events, view.Trained = timeline.Events, timeline.Trained()
	view.Config = c.configuration(r.Context(), k.Pipeline, view.Revision)
	if view.Trained != nil && len(view.Trained.Settings) > 0 {
		view.Settings = indented(mask.JSON(view.Trained.Settings))
	}
	c.addCharts(r.Context(), &view)
	c.addStudy(r.Context(), &view, join.Stage(events.FunctionTune).Job, timeline)
	if view.Trained != nil && view.State == runs.Trained {
		view.addModel(c.opts.Root)
	}
	c.addLog(r.Context(), &view, timeline)
	view.addCommands(c)
	return view, nil
}

// readLog returns a run from its events in the log.
func (c *Console) readLog(ctx context.Context, k key) (runs.Run, error) {
	s := runs.Open(c.opts.Bus, runs.Options{Timelines: true})
	if err := s.ReadLog(ctx, events.Query{Pipeline: k.Pipeline, Run: k.Run}, nil); err != nil {
		return runs.Run{}, err
	}
	s.End(events.KVJoins)
	run, known := s.Run(k)
	if !known {
		return run, notThere("The log has no event of run %s of pipeline %s.", k.Run, k.Pipeline)
	}
	return run, nil
}

// runOf returns a run from the model; if it was dropped from memory, from its events. It marks the
// events that were ignored.
func (c *Console) runOf(k key, logged runs.Run) (view runView, j join.Join) {
	c.model.View(func(x *runs.Index) {
		view.DeadLetter, view.EndedWithoutJob = c.model.dead.newest[k], logged.Timeline.EndedWithoutJob()
		r, known := c.model.run(x, k)
		if !known {
			view.runLine = run{Run: logged}.line()
			return
		}
		j = r.Join
		view.runLine, view.Job, view.Revision, view.Expires = r.line(), r.Job, r.Revision, r.Expires
		view.CanRerun = r.Over()
		applied, _ := x.Pipeline(k.Pipeline)
		view.Applied = applied.Revision
		if r.HasJoin {
			x.Ignored(k, logged.Timeline.Events)
		}
		view.Attempt = attemptLine(r.Lease.Lease)
		if r.Lease.Holder != "" {
			view.Heartbeat = r.Lease.Written
		}
		view.CanCancel = !r.Over() && r.State != runs.Unclear
		view.Charts = viewsOf(r.curves.Charts())
	})
	for i, event := range logged.Timeline.Events {
		logged.Timeline.Events[i].Ignored = mask.Text(runs.FirstLine(event.Ignored))
	}
	return view, j
}

// configuration returns a pipeline at a revision as JSON, with its defaults and without its
// secrets; "" if there is none, or if it can't be read.
func (c *Console) configuration(ctx context.Context, name string, number uint64) string {
	if number == 0 {
		return ""
	}
	p, err := c.model.Pipeline(ctx, name, number)
	if err != nil {
		c.opts.Logger.Info("revision of a pipeline not read", "pipeline", name, "revision", number, "error", err)
		return ""
	}
	text, err := p.Spec.Masked()
	if err != nil {
		return ""
	}
	return indented(text)
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

func viewsOf(charts []chart.Chart) (views []chartView) {
	for _, c := range charts {
		data, err := c.Data()
		if err != nil {
			continue // impossible: values are finite
		}
		view := chartView{ID: "chart-" + slug(c.Metric+"-"+c.Axis), Metric: c.Metric, Axis: c.Axis, SVG: c.SVG(), Data: data}
		for _, line := range c.Lines {
			view.Lines = append(view.Lines, cmp.Or(line.Name(), c.Metric))
		}
		views = append(views, view)
	}
	return views
}

// slug makes an id from a text.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
}

// addCharts reads the curves of a run that has ended from its run log, which has all of them.
func (c *Console) addCharts(ctx context.Context, view *runView) {
	view.Compare = link("/compare", "run", view.Key)
	if view.Trained == nil || view.Trained.ModelRun == "" || !view.Over() {
		return
	}
	ref, err := c.ours(view.Trained.ModelRun)
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

func (c *Console) addStudy(ctx context.Context, view *runView, job string, timeline *runs.Timeline) {
	name, found := c.studies.ofJob(ctx, view.Pipeline, job)
	if !found && timeline.HParams != nil {
		name, found = c.studies.at(ctx, view.Pipeline, timeline.HParams.Study)
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

// Rerun returns the button of the run.
func (v runView) Rerun() rerunView { return rerunView{v.Pipeline, v.Run, v.Applied} }

func (v *runView) addModel(root storage.Ref) {
	t := v.Trained
	v.Lineage = link("/lineage", "pipeline", v.Pipeline, "run", v.Run)
	for _, name := range slices.Sorted(maps.Keys(t.Metrics)) {
		v.Metrics = append(v.Metrics, nameValue{name, chart.Short(t.Metrics[name])})
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

// asOf names the revision of the pipeline that a command uses.
func asOf(revision uint64) string {
	if revision == 0 {
		return ""
	}
	return fmt.Sprintf(" with revision %d of the pipeline", revision)
}

// addCommands adds commands that help with a run, or export its model.
func (v *runView) addCommands(c *Console) {
	f := frame{c: c}
	name, of := quoted(v.Run), "--pipeline "+v.Pipeline
	add := func(purpose, text string) { v.Commands = append(v.Commands, commandLine{purpose, text}) }
	switch v.State {
	case runs.Trained:
		add("Copy the model", f.Command("models pull", v.Pipeline, "--run", name, "--to", "./"+v.Pipeline))
		add("Serve it with TensorFlow Serving", f.Command("models pull", v.Pipeline, "--run", name, "--to", "./serving/"+v.Pipeline, "--serving")+
			" &&\ntensorflow_model_server --rest_api_port=8501 --model_name="+v.Pipeline+` --model_base_path="$PWD/serving/`+v.Pipeline+`"`)
		add("Show its curves in TensorBoard", f.Command("models pull", v.Pipeline, "--run", name, "--to", "./"+v.Pipeline, "--model-run")+
			" &&\ntensorboard --logdir ./"+v.Pipeline+"/model_run")
	case runs.Failed, runs.Cancelled, runs.Expired:
		add("Show all details", f.Command("runs show", name, of))
		if v.DeadLetter != 0 && !v.EndedWithoutJob {
			add("Retry it"+asOf(v.Revision)+", once the cause is fixed", f.Command("dead retry", strconv.FormatUint(v.DeadLetter, 10)))
		} else if v.DeadLetter == 0 && v.Job != "" {
			add("Train it again"+asOf(v.Revision), f.Command("replay", "--run", name, of, "--force"))
		}
		if v.Applied != 0 {
			add("Run its inputs again"+asOf(v.Applied)+", which is applied now", f.Command("runs rerun", name, of))
		}
	case runs.Held:
		if v.Position != nil && v.Position.Paused {
			add("Resume the pipeline's runs", f.Command("resume", v.Pipeline))
		}
		add("Cancel it", f.Command("cancel", name, of))
	case runs.Unclear:
		add("Show its details", f.Command("runs show", name, of))
	default:
		add("Cancel it", f.Command("cancel", name, of))
	}
}

// addLog adds the end of the module's log: what the bus has of it while the module runs, and what
// the store has after the job has ended.
func (c *Console) addLog(ctx context.Context, view *runView, timeline *runs.Timeline) {
	if !view.Over() {
		c.addLiveLog(ctx, view)
		return
	}
	if timeline.Failed != nil {
		if whole := mask.Text(runs.PlainText(timeline.Failed.Message)); whole != plain(view.What()) {
			view.Failure = whole
		}
		view.Log = mask.Text(runs.PlainText(timeline.Failed.LogTail))
	}
	address := logAddress(timeline)
	if address == "" {
		return
	}
	ref, err := c.ours(address)
	if err != nil {
		view.LogNote = err.Error()
		return
	}
	text, whole, err := c.tail(ctx, ref)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		view.LogNote = "The log of this run is no longer in the store."
	case err != nil:
		view.LogNote = "The log can't be read: " + err.Error()
	default:
		view.Log, view.LogWhole, view.LogURL = mask.Text(runs.PlainText(text)), whole, link("/download", "ref", address)
	}
}

// addLiveLog is addLog for a run in progress, or one that waits for its job.
func (c *Console) addLiveLog(ctx context.Context, view *runView) {
	const kept = "The whole log is stored when the job has ended."
	view.LogNote = kept
	text, err := c.logs.end(ctx, job{key{Pipeline: view.Pipeline, Run: view.Run}, view.Job})
	if err != nil {
		view.LogNote = "The output can't be read now: " + mask.Text(err.Error()) + ". " + kept
		return
	}
	view.Log, view.LogLive = mask.Text(runs.PlainText(text)), text != ""
}

func logAddress(timeline *runs.Timeline) string {
	if timeline.Failed != nil {
		return timeline.Failed.Log
	}
	trained := timeline.Trained()
	if trained == nil {
		return ""
	}
	ref, err := storage.ParseRef(trained.Model.URI)
	if err != nil {
		return ""
	}
	place, ok := storage.PlaceOf(ref)
	if !ok {
		return ""
	}
	return place.Log().String()
}
