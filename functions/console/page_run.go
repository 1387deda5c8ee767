package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/workers"
	"github.com/stoker-ml/stoker/storage"
)

// runView is one run.
type runView struct {
	runLine
	Events     []runs.Event
	Expires    time.Time
	Job        string
	Revision   uint64
	Attempt    string          // its number, and how earlier attempts ended
	Worker     *workers.Worker // that reports to have the job; nil if none does
	WorkerURL  template.URL
	Heartbeat  time.Time
	Charts     []chartView
	Tools      toolsView
	Rates      []nameValue // learning rates that do not change
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
	// The pipeline that it is made from, with its defaults; nil if that is not known.
	Config      []pipeline.Line
	Settings    []settingLine // of its model's training; nil if the module reported none
	Environment []settingLine
	Confusion   *confusionView // of its model, on the evaluation rows; nil if there is none
	CanRerun    bool           // it has ended, and its inputs may be started again
	Applied     uint64         // the revision of its pipeline that is applied now; 0: none is

	holder string // the attempt that has the lease of its job; "" if none has
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

func (c *Console) runPage() page {
	return page{
		nav: "runs", template: "run", title: func(view any) string { v := view.(runView); return v.Run + " · " + v.Pipeline },
		fragments: []string{"run-head", "run-result", "run-charts", "run-confusion", "run-events", "run-log", "run-config"},
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
	view, curves, join := c.runOf(k, logged)
	timeline := logged.Timeline
	view.Events, view.Trained = timeline.Events, timeline.Trained()
	c.addWorker(&view)
	c.addConfiguration(r.Context(), &view)
	c.addCharts(r, &view, curves)
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
func (c *Console) runOf(k key, logged runs.Run) (view runView, curves []chart.Chart, j join.Join) {
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
			view.Heartbeat, view.holder = r.Lease.Written, r.Lease.Holder
		}
		view.CanCancel = !r.Over() && r.State != runs.Unclear
		curves = r.curves.Charts()
	})
	for i, event := range logged.Timeline.Events {
		logged.Timeline.Events[i].Ignored = mask.Text(runs.FirstLine(event.Ignored))
	}
	return view, curves, j
}

// addWorker adds the worker that has the run's job, according to its heartbeats.
func (c *Console) addWorker(view *runView) {
	if view.holder == "" {
		return
	}
	here, _ := c.workers.All()
	if w, known := workers.Holders(here)[view.holder]; known {
		view.Worker, view.WorkerURL = &w, workerURL(w.ID)
	}
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

// addCharts draws the curves that were followed, or, of a run that has ended, those of its run log,
// which has all of them.
func (c *Console) addCharts(r *http.Request, view *runView, followed []chart.Chart) {
	v, log := chart.ParseView(r.URL.Query()), logged{charts: followed}
	view.Compare = link("/compare", "run", view.Key)
	if view.Trained != nil && view.Trained.ModelRun != "" && view.Over() {
		log, view.ChartNote = c.logOf(r.Context(), view, log)
	}
	charts, rates := splitRates(log.in(v))
	view.Charts, view.Rates, view.Tools = viewsOf(charts, v), rates, toolsOf(r, v, charts, len(log.epochs) > 0)
}

// logOf returns the run log of a run that has ended, or what was followed if there is none, and
// adds the confusion matrix next to it.
func (c *Console) logOf(ctx context.Context, view *runView, followed logged) (_ logged, note string) {
	ref, err := c.ours(view.Trained.ModelRun)
	if err != nil {
		return followed, err.Error()
	}
	view.Confusion = c.confusionOf(ctx, ref)
	read := c.curves.read(ctx, ref.String())
	if len(read.charts) == 0 {
		return followed, read.note
	}
	return read, read.note
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

// Retry returns whether the run's job can be queued again from its dead letter.
func (v runView) Retry() bool { return v.DeadLetter != 0 && !v.EndedWithoutJob && v.Over() }

// Rerun returns the button of the run.
func (v runView) Rerun() rerunView { return rerunView{v.Pipeline, v.Run, v.Applied} }

func (v *runView) addModel(root storage.Ref) {
	t := v.Trained
	v.Lineage = link("/lineage", "pipeline", v.Pipeline, "run", v.Run)
	for _, name := range slices.Sorted(maps.Keys(t.Metrics)) {
		v.Metrics = append(v.Metrics, nameValue{Name: name, Value: chart.Short(t.Metrics[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Hyperparameters)) {
		value := fmt.Sprint(t.Hyperparameters[name])
		if mask.Name(name) {
			value = mask.Hidden
		}
		v.Hyper = append(v.Hyper, nameValue{Name: name, Value: value})
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
