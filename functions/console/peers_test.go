//go:build browser

package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
)

var (
	loadings  = flag.Int("loadings", 9, "how often TestBenchPages and TestBenchPeers load each page")
	peerRuns  = flag.Int("runs", 5000, "runs of TestBenchPeers")
	peerStudy = flag.Int("trials", 2000, "trials of TestBenchPeers")
)

const (
	comparedRuns = 8                 // with curves; they are compared, and the first is shown alone
	curvePoints  = 300               // of each of a run's four curves
	peersFolder  = "../../bin/peers" // has the virtual environment and the data of other tools
	peersSource  = "../../infra/browser/peers"
)

// peerData is what the console and the other tools show; peers/fill.py reads it as JSON. Times are
// milliseconds of the Unix epoch.
type peerData struct {
	Pipeline string      `json:"pipeline"`
	Space    []peerParam `json:"space"`
	Runs     []peerRun   `json:"runs"`
	Trials   []peerTrial `json:"trials"`
}

type peerParam struct {
	Name    string  `json:"name"`
	Kind    string  `json:"kind"` // float, int or choice
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Log     bool    `json:"log"`
	Choices []any   `json:"choices,omitempty"`
}

type peerRun struct {
	Name     string                  `json:"name"`
	State    string                  `json:"state"` // trained or failed
	Started  int64                   `json:"started"`
	Finished int64                   `json:"finished"`
	Params   map[string]any          `json:"params"`
	Metrics  map[string]float64      `json:"metrics"`
	Curves   map[string][][2]float64 `json:"curves,omitempty"`
}

type peerTrial struct {
	State    string         `json:"state"` // completed, stopped (early) or failed
	Value    float64        `json:"value"`
	Started  int64          `json:"started"`
	Finished int64          `json:"finished"`
	Params   map[string]any `json:"params"`
	Curve    [][2]float64   `json:"curve"`
}

var peerSpace = []peerParam{
	{Name: "learning_rate", Kind: "float", Min: 0.0001, Max: 0.1, Log: true}, {Name: "units", Kind: "int", Min: 4, Max: 64}, {Name: "dropout", Kind: "float", Max: 0.5},
	{Name: "batch_size", Kind: "int", Min: 16, Max: 128}, {Name: "activation", Kind: "choice", Choices: []any{"relu", "tanh"}}, {Name: "optimizer", Kind: "choice", Choices: []any{"adam", "sgd"}},
}

// peerPoint returns the values of a point of peerSpace, and the accuracy there.
func peerPoint(i, of int) (values map[string]any, accuracy float64) {
	rate := math.Pow(10, -4+3*float64(i*7919%of)/float64(of))
	values = map[string]any{
		"learning_rate": rate, "units": int64(4 + i*31%61), "dropout": float64(i*17%50) / 100, "batch_size": int64(16 << (i % 4)),
		"activation": []string{"relu", "tanh"}[i%2], "optimizer": []string{"adam", "sgd"}[i/2%2],
	}
	return values, 0.95 - math.Abs(math.Log10(rate)+2)/4 + 0.01*float64(i%5)
}

func newPeerData(runs, trials int) peerData {
	data := peerData{Pipeline: "penguin", Space: peerSpace}
	const first, second = int64(1764000000000), int64(1000)
	for i := range runs {
		one := peerRun{Name: fmt.Sprintf("run-%04d", i), State: "trained", Started: first + int64(i)*60*second}
		var accuracy float64
		one.Params, accuracy = peerPoint(i, runs)
		one.Finished = one.Started + (40+int64(i)*31%240)*second
		one.Metrics = map[string]float64{"accuracy": accuracy, "loss": 1.1 - accuracy, "auc": accuracy, "precision": accuracy, "recall": accuracy, "val_loss": 1.2 - accuracy}
		if i < comparedRuns {
			one.Curves = peerCurves(float64(i) / comparedRuns)
		} else if i%7 == 3 {
			one.State = "failed"
		}
		data.Runs = append(data.Runs, one)
	}
	for i := range trials {
		one := peerTrial{State: []string{"completed", "completed", "completed", "stopped", "failed"}[i%5], Started: first + int64(i)*6*second, Finished: first + int64(i)*6*second + 5*second}
		one.Params, one.Value = peerPoint(i, trials)
		for step := 1; step <= 10; step++ {
			one.Curve = append(one.Curve, [2]float64{float64(step), one.Value - 0.3/float64(step)})
		}
		data.Trials = append(data.Trials, one)
	}
	return data
}

// peerCurves returns the curves of a run, by the directory of its run log and the name there.
func peerCurves(seed float64) map[string][][2]float64 {
	curves := map[string][][2]float64{}
	for part, off := range map[string]float64{"train": 0, "validation": 0.08} {
		for step := 1; step <= curvePoints; step++ {
			at := float64(step) / 5
			loss := 0.2 + off + (1+seed)*math.Exp(-at/(12+9*seed)) + 0.03*math.Sin(at*(1.3+seed))
			curves[part+"/batch_loss"] = append(curves[part+"/batch_loss"], [2]float64{float64(100 * step), loss})
			curves[part+"/batch_accuracy"] = append(curves[part+"/batch_accuracy"], [2]float64{float64(100 * step), 1 - loss/3})
		}
	}
	return curves
}

// writeLogs writes the run logs of the runs that have curves, as trainings do, into a directory
// for each run.
func (d peerData) writeLogs(t *testing.T, folder string) {
	t.Helper()
	for _, run := range d.Runs[:min(comparedRuns, len(d.Runs))] {
		for _, part := range []string{"train", "validation"} {
			log, err := tfevents.Open(filepath.Join(folder, run.Name, part), tfevents.Options{})
			for _, name := range []string{"batch_loss", "batch_accuracy"} {
				for _, point := range run.Curves[part+"/"+name] {
					if err == nil {
						err = log.Scalar(int64(point[0]), name, point[1])
					}
				}
			}
			if err == nil {
				err = log.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// preparePeers fills the other tools with the data, unless they have it.
func preparePeers(t *testing.T, data peerData) {
	t.Helper()
	python := filepath.Join(peersFolder, "venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("%v: task bench:console:peers installs the other tools", err)
	}
	text, err := json.Marshal(data)
	digest := sha256.New()
	digest.Write(text)
	for _, name := range []string{"fill.py", "requirements.txt"} {
		source, readErr := os.ReadFile(filepath.Join(peersSource, name))
		err = errors.Join(err, readErr)
		digest.Write(source)
	}
	if err != nil {
		t.Fatal(err)
	}
	have, stamp := fmt.Sprintf("%x", digest.Sum(nil)), filepath.Join(peersFolder, "data", "digest")
	if before, err := os.ReadFile(stamp); err == nil && string(before) == have {
		return
	}
	folder := filepath.Dir(stamp)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "data.json"), text, 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Log("filling the other tools, once, some minutes")
	data.writeLogs(t, filepath.Join(folder, "tensorboard"))
	do(t, ".", python, filepath.Join(peersSource, "fill.py"), filepath.Join(folder, "data.json"), folder)
	if err := os.WriteFile(stamp, []byte(have), 0o644); err != nil {
		t.Fatal(err)
	}
}

// show has the console show the data, and returns its pages.
func (w *world) show(data peerData) []spec {
	w.t.Helper()
	w.apply(penguin)
	logs := filepath.Join(peersFolder, "data", "tensorboard")
	files, err := filepath.Glob(filepath.Join(logs, "*", "*", "*"))
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		name, relErr := filepath.Rel(logs, file)
		err = errors.Join(err, readErr, relErr)
		w.shelve("s3://bkt/penguin/Trainer/model_run/"+filepath.ToSlash(name), string(text))
	}
	if err != nil || len(files) != 2*comparedRuns {
		w.t.Fatalf("%d run logs, %v", len(files), err)
	}
	for _, run := range data.Runs {
		event := trained(run.Name)
		model := event.Data.(*events.ModelTrained)
		model.Hyperparameters, model.Metrics = run.Params, run.Metrics
		model.Started, model.Finished = time.UnixMilli(run.Started), time.UnixMilli(run.Finished)
		if run.Curves != nil {
			model.ModelRun = "s3://bkt/penguin/Trainer/model_run/" + run.Name
		}
		if run.State == "failed" {
			event = failed(run.Name, "ValueError: the loss is not finite")
		}
		w.publish(ready(run.Name), event)
	}
	study := w.showStudy(data.Trials)
	w.eventually("all runs are known", func() bool { return len(w.model.snapshot()) >= len(data.Runs) })
	compared := url.Values{}
	for _, run := range data.Runs[:comparedRuns] {
		compared.Add("run", data.Pipeline+"/"+run.Name)
	}
	const drawn = ` && document.querySelectorAll('main svg, main canvas, main img').length > 0 && [...document.images].every(one => one.getBoundingClientRect().top > innerHeight || one.complete && one.naturalWidth > 0)`
	says := func(word string) string {
		return fmt.Sprintf(`document.evaluate("//main//text()[contains(., '%s')]", document, null, XPathResult.BOOLEAN_TYPE, null).booleanValue`, word)
	}
	run, ofStudy := "/run?pipeline=penguin&run="+data.Runs[0].Name, "/study?pipeline=penguin&id="+study
	page := func(name, path, ready string) spec {
		return spec{Tool: "Stoker", Name: name, URL: w.url + path, Ready: ready}
	}
	return []spec{
		page("list of runs", "/runs", says(data.Runs[len(data.Runs)-1].Name)),
		page("run", run, says("learning_rate")),
		page("curves of a run", run, says("loss")+drawn),
		page("runs compared", "/compare?"+compared.Encode(), says(data.Runs[comparedRuns-1].Name)+drawn),
		page("study", ofStudy, says("learning_rate")+drawn),
		page("table of trials", ofStudy, `document.querySelectorAll('table tbody tr').length > 40`),
	}
}

// showStudy writes the log of a study, and returns its id.
func (w *world) showStudy(trials []peerTrial) string {
	w.t.Helper()
	name, after, previous := events.Study{Pipeline: "penguin", ID: strings.Repeat("ab", 32)}, uint64(0), ""
	write := func(e tune.Entry) {
		e.Previous = previous
		body, err := e.Bytes()
		if err == nil {
			after, err = w.bus.AppendStudy(w.t.Context(), name, body, after)
		}
		if previous = tune.HashOf(body); err != nil {
			w.t.Fatal(err)
		}
	}
	config := tune.Config{Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}}, Algorithm: tune.Algorithm{Name: tune.Random}, MaxTrials: len(trials), Parallel: 1}
	for _, p := range peerSpace {
		one := space.Parameter{Name: p.Name, Kind: map[string]space.Kind{"float": space.Float, "int": space.Int, "choice": space.Choice}[p.Kind], Choices: p.Choices}
		if p.Kind != "choice" {
			one.Min, one.Max, one.Sampling = p.Min, p.Max, space.Linear
		}
		if p.Log {
			one.Sampling = space.Log
		}
		config.Space = append(config.Space, one)
	}
	write(tune.Entry{Begun: &tune.Begun{Request: "j", Config: config}})
	owner := tune.Owner{Job: "j", Attempt: "a"}
	for i, trial := range trials {
		id := fmt.Sprintf("%04d", i)
		var values space.Values
		for _, p := range peerSpace {
			values = append(values, space.Value{Name: p.Name, Of: trial.Params[p.Name]})
		}
		write(tune.Entry{Started: []tune.Started{{Trial: id, Suggestion: &tune.Suggestion{Values: values}, Owner: owner}}})
		ended := tune.Ended{Trial: id, Owner: owner, Status: tune.Completed, Step: 10, Metrics: map[string]float64{"accuracy": trial.Value}, Curves: map[string][]tune.Point{}}
		for _, point := range trial.Curve {
			ended.Curves["accuracy"] = append(ended.Curves["accuracy"], tune.Point{Step: int(point[0]), Value: point[1]})
		}
		switch trial.State {
		case "stopped":
			ended.Stopped = 10
		case "failed":
			ended.Status, ended.Message, ended.Metrics = tune.Failed, "ValueError: the loss is not finite", nil
		}
		write(tune.Entry{Ended: &ended})
	}
	write(tune.Entry{Finished: &tune.Finished{Why: tune.MaxTrials}})
	return name.ID
}

// spec is a page as infra/browser reads it.
type spec struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Ready string `json:"ready"`
	Tool  string `json:"tool"`
}

// comparedPage is what infra/browser prints of a page.
type comparedPage struct {
	spec
	First   peerVisit
	Visits  []peerVisit
	Layouts []struct {
		Width, Overflow, Rules int
		Serious                []string
	}
}

type peerVisit struct {
	Load    float64 `json:"load_ms"`
	Painted float64 `json:"painted_ms"`
	Ready   float64 `json:"ready_ms"`
	Longest float64 `json:"longest_task_ms"`
	Sent    float64
	Asked   int
}

// TestBenchPeers measures pages of the console and of optuna-dashboard, MLflow and TensorBoard in
// turn, in one browser, with the same runs and the same study: task bench:console:peers. It
// asserts nothing about times, because machines differ. STOKER_SHOTS names a directory for
// pictures.
func TestBenchPeers(t *testing.T) {
	if *loadings < 1 || *peerRuns < comparedRuns || *peerStudy < 1 {
		t.Fatalf("expected -loadings 1, -runs %d and -trials 1 at least", comparedRuns)
	}
	b, w := openBrowser(t), setup(t, nil)
	data := newPeerData(*peerRuns, *peerStudy)
	preparePeers(t, data)
	compare := map[string]any{"pages": w.show(data), "environment": filepath.Join(peersFolder, "venv"), "folder": filepath.Join(peersFolder, "data")}
	var names []string
	for _, run := range data.Runs[:comparedRuns] {
		names = append(names, run.Name)
	}
	compare["runs"] = map[string]any{"newest": data.Runs[len(data.Runs)-1].Name, "compared": names}
	text, err := json.Marshal(compare)
	file := filepath.Join(t.TempDir(), "compare.json")
	if err = errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	args := []string{"-peers", file, "-axe", b.axe, "-times", fmt.Sprint(*loadings), "-width", "1440", "-width", "390", "-shots", os.Getenv("STOKER_SHOTS")}
	cmd := exec.CommandContext(t.Context(), b.program, args...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, time.Minute
	cmd.Stderr = os.Stderr
	var pages []comparedPage
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &pages)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%d runs, of which %d have four curves of %d points and are compared; %d trials of %d parameters.\n"+
		"Of %d loadings in headless Chromium the median, and from the least to the greatest, in milliseconds.\n%s",
		*peerRuns, comparedRuns, curvePoints, *peerStudy, len(peerSpace), *loadings, peerTable(pages))
}

// peerTable returns the figures as a table in Markdown, pages of the same kind together.
func peerTable(pages []comparedPage) string {
	var names []string
	for _, page := range pages {
		if !slices.Contains(names, page.Name) {
			names = append(names, page.Name)
		}
	}
	var text bytes.Buffer
	text.WriteString("| page | of | load event | first paint | data shown | longest task | data shown, first visit | KiB, first visit | KiB, later | requests, later | axe: serious rules, all rules | wider than 390 px by |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, name := range names {
		for _, page := range pages {
			if page.Name != name {
				continue
			}
			of := func(figure func(peerVisit) float64) string {
				var values []float64
				for _, one := range page.Visits {
					values = append(values, figure(one))
				}
				slices.Sort(values)
				return fmt.Sprintf("%.0f (%.0f-%.0f)", values[len(values)/2], values[0], values[len(values)-1])
			}
			fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %.0f | %.0f | %s | %s |", name, page.Tool,
				of(func(v peerVisit) float64 { return v.Load }), of(func(v peerVisit) float64 { return v.Painted }), of(func(v peerVisit) float64 { return v.Ready }),
				of(func(v peerVisit) float64 { return v.Longest }), page.First.Ready, page.First.Sent/1024, of(func(v peerVisit) float64 { return v.Sent / 1024 }), of(func(v peerVisit) float64 { return float64(v.Asked) }))
			for _, layout := range page.Layouts {
				if layout.Width == 390 {
					fmt.Fprintf(&text, " %d, %d | %d |", len(layout.Serious), layout.Rules, layout.Overflow)
				}
			}
			text.WriteString("\n")
		}
	}
	return text.String()
}
