package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/storage"
)

// trialView is one trial of a study.
type trialView struct {
	Study     events.Study
	StudyURL  template.URL
	Row       report.Row
	State     string
	InWords   string
	Folds     bool // a step of the trial is a fold
	Scores    []nameValue
	Rank      int
	Scored    int
	Values    []nameValue
	Tuner     []nameValue // what the algorithm adds, such as a number of epochs
	Metrics   []nameValue
	Charts    []chartView
	Neighbors []neighbor
	Took      time.Duration
	Run       *key
	RunURL    template.URL
	WorkerURL template.URL // of the worker that ran it last; "": not known
	Message   string       // why it failed, with the end of its log
	Log       string       // the end of the output of its job, or of the search
	LogNote   string
	LogURL    template.URL
	Kept      string          // what is kept of it
	Saved     *checkpointLine // its newest checkpoint
	Results   template.URL
	Model     template.URL
	Parent    template.URL
	Continued []neighbor // trials that continue from it
	JSON      string
	Download  template.URL
	Commands  []commandLine
}

// neighbor is another trial, and what it is to this one.
type neighbor struct {
	Label, Trial string
	URL          template.URL
}

// maxNeighbors is how many trials that continue one are listed.
const maxNeighbors = 20

func (c *Console) trialPage() page {
	return page{
		nav: "studies", template: "trial", breath: shortly,
		title: func(view any) string {
			v := view.(trialView)
			return "Trial " + v.Row.Trial + " · " + v.Study.Pipeline
		},
		fragments: []string{"trial-head", "trial-values", "trial-charts", "trial-log"},
		build:     func(r *http.Request) (any, error) { return c.trialView(r) },
	}
}

// drawnTrial returns the study and the row of the trial that a request names.
func (c *Console) drawnTrial(r *http.Request) (d drawnStudy, row int, err error) {
	d, err = c.drawnStudy(r)
	if err != nil {
		return d, 0, err
	}
	id := r.FormValue("trial")
	if n, err := strconv.Atoi(id); err == nil && n >= 0 && n < 1e6 {
		id = fmt.Sprintf("%04d", n) // pages also name trials without zeros
	}
	row = slices.IndexFunc(d.Rows(), func(row report.Row) bool { return row.Trial == id })
	if row < 0 {
		return d, 0, notThere("The study has no trial %s.", id[:min(len(id), 20)])
	}
	return d, row, nil
}

func (c *Console) trialView(r *http.Request) (view trialView, err error) {
	d, i, err := c.drawnTrial(r)
	if err != nil {
		return view, err
	}
	row, t := d.Rows()[i], d.State.Study.Trials[i]
	view = trialView{
		Study: d.Name, StudyURL: link("/study", "pipeline", d.Name.Pipeline, "id", d.Name.ID), Row: row, State: string(d.Report.State(row)), InWords: d.Report.InWords(row),
		Folds: d.Report.Validation.Folds > 0, Rank: d.Rank(row.Trial), Scored: d.Scored(), Message: mask.Text(runs.PlainText(row.Message)),
	}
	if events.CheckName("worker", row.Worker) == nil {
		view.WorkerURL = workerURL(row.Worker)
	}
	for o, score := range d.ScoresOf(i) {
		if score != nil {
			view.Scores = append(view.Scores, nameValue{d.Scores[o].Name, chart.Short(*score)})
		}
	}
	view.values(row)
	view.duration(c.opts.Now(), row)
	view.curves(d, t)
	view.neighbors(d, i)
	view.kept(c, d, row, t)
	c.addCheckpoint(r.Context(), &view, d, t)
	c.addRun(&view, d)
	c.addTrialLog(r.Context(), &view, d, t)
	view.commands(c, d)
	return view, nil
}

func (v *trialView) values(row report.Row) {
	for _, value := range row.Values {
		line := nameValue{value.Name, chart.ValueText(value.Of)}
		if strings.HasPrefix(value.Name, space.Own) {
			v.Tuner = append(v.Tuner, line)
			continue
		}
		v.Values = append(v.Values, line)
	}
	for _, name := range slices.Sorted(maps.Keys(row.Metrics)) {
		v.Metrics = append(v.Metrics, nameValue{name, chart.Short(row.Metrics[name])})
	}
}

func (v *trialView) duration(now time.Time, row report.Row) {
	switch {
	case !row.Ended.IsZero():
		v.Took = row.Ended.Sub(row.Started)
	case !row.Started.IsZero():
		v.Took = now.Sub(row.Started)
	}
}

// curves adds a chart for each metric that the log has by step.
func (v *trialView) curves(d drawnStudy, t *tune.Trial) {
	var charts chart.Curves
	for _, name := range slices.Sorted(maps.Keys(t.Curves)) {
		for _, p := range t.Curves[name] {
			charts.Add(p.Step, time.Time{}, map[string]float64{name: p.Value})
		}
	}
	v.Charts = viewsOf(charts.Charts(), chart.View{})
}

// neighbors adds the trials before and after it, by number and by score, and those of the same
// training.
func (v *trialView) neighbors(d drawnStudy, i int) {
	rows := d.Rows()
	add := func(label, trial string) {
		if trial != "" {
			v.Neighbors = append(v.Neighbors, neighbor{label, trial, trialURL(d.Name, trial)})
		}
	}
	if i > 0 {
		add("← Previous", rows[i-1].Trial)
	}
	if i+1 < len(rows) {
		add("Next →", rows[i+1].Trial)
	}
	better, worse := d.Neighbors(rows[i].Trial)
	add("↑ Next better", better)
	add("↓ Next worse", worse)
	if parent := rows[i].Parent; parent != "" {
		v.Parent = trialURL(d.Name, parent)
	}
	for _, row := range rows {
		if row.Parent == rows[i].Trial && len(v.Continued) < maxNeighbors {
			v.Continued = append(v.Continued, neighbor{"", row.Trial, trialURL(d.Name, row.Trial)})
		}
	}
}

// The folder of a Tuner's artifacts below that of a pipeline, and its outputs, as TFX names them.
const (
	tunerFolder = "Tuner"
	tunerBest   = "best_hyperparameters"
	tunerModel  = "model"
)

// checkpointLine is a checkpoint of a trial.
type checkpointLine struct {
	Step    int
	Address string
	URL     template.URL
}

// addCheckpoint adds the newest checkpoint of a trial, from which another attempt at it resumes, or
// other trials start. It is removed once the search has ended.
func (c *Console) addCheckpoint(ctx context.Context, view *trialView, d drawnStudy, t *tune.Trial) {
	if d.Report.Finished != nil || t.Status != tune.Running && view.Kept == "" {
		return
	}
	root := c.opts.Root.Join(d.Name.Pipeline, tunerFolder)
	place := storage.Place{Root: root, Execution: "sha256:" + d.Name.ID}.Part(studies.PartOf(t))
	list, err := storage.CheckpointsOf(ctx, c.opts.Store, root, place.Execution)
	if err != nil {
		c.opts.Logger.Info("checkpoints of a trial not read", "study", d.Name.ID, "trial", t.ID, "error", err)
	}
	if len(list) > 0 {
		address := place.Checkpoint(list[0]).String()
		view.Saved = &checkpointLine{list[0].Step, address, link("/artifact", "ref", address)}
	}
}

// kept adds what the store has of a trial.
func (v *trialView) kept(c *Console, d drawnStudy, row report.Row, t *tune.Trial) {
	over := d.Report.Finished != nil && d.Report.Finished.Why != tune.Cancelled && d.Report.Finished.Why != tune.Failing
	files := strings.Fields(t.Files)
	state, model := slices.Contains(files, "kept"), slices.Contains(files, "model")
	address := func(key string) template.URL {
		return link("/artifact", "ref", c.opts.Root.Join(d.Name.Pipeline, tunerFolder, key, d.Name.ID).String())
	}
	switch {
	case row.Best && over:
		v.Results = address(tunerBest)
		if model {
			v.Model = address(tunerModel)
		}
	case model && !over:
		v.Kept = "Its model, which is published if the trial stays the best"
	case state && !over:
		v.Kept = "Its checkpoint, from which other trials may continue, until the search ends"
	}
}

// addRun adds the run that asked for the study. Of several ones it is the first that is known.
func (c *Console) addRun(view *trialView, d drawnStudy) {
	order := map[string]int{} // of the requests, by job
	for i, request := range slices.Backward(d.State.Study.Requests) {
		job, _, _ := strings.Cut(request, " ")
		order[job] = i
	}
	first := len(d.State.Study.Requests)
	c.model.View(func(x *runs.Index) {
		for k := range x.Keys() {
			if k.Pipeline != d.Name.Pipeline {
				continue
			}
			run, known := x.Run(k)
			if i, asked := order[run.Join.Stage(events.FunctionTune).Job]; known && asked && i < first {
				first, view.Run, view.RunURL = i, &k, link("/run", "pipeline", k.Pipeline, "run", k.Run)
			}
		}
	})
}

// addTrialLog adds the end of the output of a trial's job, which the bus has while the job runs and
// for an hour after it at most; of a trial that has ended also that of the search, if the store has
// it.
func (c *Console) addTrialLog(ctx context.Context, view *trialView, d drawnStudy, t *tune.Trial) {
	switch {
	case t.By.Job == "":
		return
	case view.Run == nil && t.Status == tune.Running:
		view.LogNote = "The output of its job is on the page of its run, which is not known here."
		return
	case view.Run != nil:
		text, err := c.logs.end(ctx, job{*view.Run, t.By.Job})
		if err != nil {
			view.LogNote = "The output can't be read now: " + mask.Text(err.Error())
			return
		}
		view.Log, view.LogNote = mask.Text(runs.PlainText(text)), "The end of the output of its job, which also has other trials of the same job."
	}
	if t.Status == tune.Running || view.Log != "" {
		return
	}
	view.LogNote = "The output of a trial is not stored: the bus has it while its job runs, and for an hour after at most."
	c.addSearchLog(ctx, view, d)
}

// addSearchLog adds the end of the log of a module that has run a search in one process.
func (c *Console) addSearchLog(ctx context.Context, view *trialView, d drawnStudy) {
	if d.Report.Finished == nil {
		return
	}
	root := c.opts.Root.Join(d.Name.Pipeline, tunerFolder)
	commit, err := storage.CommitOf(ctx, c.opts.Store, root, "sha256:"+d.Name.ID)
	if err != nil || commit.Attempt == "" {
		return // not committed yet, or cancelled
	}
	log := storage.Place{Root: root, Execution: commit.Execution, Attempt: commit.Attempt}.Log()
	text, _, err := c.tail(ctx, log)
	if errors.Is(err, storage.ErrNotFound) {
		return
	}
	if err != nil {
		view.LogNote = "The log of the search can't be read: " + mask.Text(err.Error())
		return
	}
	view.Log, view.LogURL = mask.Text(runs.PlainText(text)), link("/download", "ref", log.String())
	view.LogNote = "The end of the log of the search, which has all trials that its attempt ran."
}

// commands adds the trial's hyperparameters as JSON, and how to train with them.
func (v *trialView) commands(c *Console, d drawnStudy) {
	values := map[string]any{}
	for _, value := range v.Row.Values {
		if !strings.HasPrefix(value.Name, space.Own) {
			values[value.Name] = value.Of
		}
	}
	v.JSON = indented(values)
	v.Download = link("/trial/hyperparameters", "pipeline", d.Name.Pipeline, "id", d.Name.ID, "trial", v.Row.Trial)
	f := frame{c: c}
	name := fmt.Sprintf("%s-trial-%s", d.Name.ID[:min(12, len(d.Name.ID))], v.Row.Trial)
	address := c.opts.Root.Join("own", name).String()
	v.Commands = []commandLine{
		{"Try the module with these hyperparameters here, without a server", f.c.opts.Command + " try MODULE --hyperparameters " + hyperparametersFile},
		{"Train with these hyperparameters: upload the file, and name it in an event of a run of a pipeline with trainer.hyperparameters: run",
			f.Command("upload", hyperparametersFile, address) + " &&\n" + f.Command("publish", "hparams.ready", d.Name.Pipeline+"/"+"trial-"+v.Row.Trial, "--hyperparameters", address)},
	}
}

// hyperparametersFile is TFX's name of the file that a Trainer reads.
const hyperparametersFile = "best_hyperparameters.txt"

// trialHyperparameters answers with the hyperparameters of a trial, in the file that a Trainer
// reads. It refuses those that are secret: a file without them would train another model.
func (c *Console) trialHyperparameters(w http.ResponseWriter, r *http.Request) {
	d, i, err := c.drawnTrial(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	values := d.State.Study.Trials[i].Values
	for j, shown := range d.Rows()[i].Values {
		if shown != values[j] {
			c.fail(w, r, &problem{http.StatusForbidden, fmt.Sprintf("The value of %s looks like a secret, which the console doesn't give away. "+
				"`%s studies export` has it.", shown.Name, c.opts.Command)})
			return
		}
	}
	text, err := d.State.Study.Config.Space.Encode(values)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="`+hyperparametersFile+`"`)
	_, _ = w.Write(text) // the client may be gone
}

// trialBrief answers with the most important values of a trial, a line each, for readers who point
// at it in a drawing.
func (c *Console) trialBrief(w http.ResponseWriter, r *http.Request) {
	d, i, err := c.drawnTrial(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	row := d.Rows()[i]
	lines := []string{"Trial " + row.Trial + ", " + d.Report.InWords(row)}
	for o, score := range d.ScoresOf(i) {
		if score != nil {
			lines = append(lines, d.Scores[o].Name+" "+chart.Short(*score))
		}
	}
	for _, name := range d.Columns() {
		if value, there := row.Values.Lookup(name); there {
			lines = append(lines, name+" "+chart.ValueText(value))
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, strings.Join(lines, "\n")) // the client may be gone
}
