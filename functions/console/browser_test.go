//go:build browser

package console

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// axeVersion of npm's axe-core, with which pages are looked at.
const axeVersion = "4.14.1"

// browser is the program that looks at pages, built from its own module, with axe and a Chromium beside it.
type browser struct{ program, axe string }

func openBrowser(t *testing.T) browser {
	t.Helper()
	dir := t.TempDir()
	b := browser{filepath.Join(dir, "browser"), filepath.Join(dir, "package", "axe.min.js")}
	do(t, "../../infra/browser", "go", "build", "-o", b.program, ".")
	do(t, dir, "npm", "pack", "--silent", "axe-core@"+axeVersion)
	do(t, dir, "tar", "-xzf", "axe-core-"+axeVersion+".tgz")
	if _, err := exec.LookPath("chromium"); err != nil {
		do(t, dir, "apt-get", "update", "-q")
		do(t, dir, "apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core")
	}
	return b
}

func do(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// finding is what the program prints of a page.
type finding struct {
	URL, Scheme string
	Violations  []string
	Errors      []string
	Load        float64 `json:"load_ms"`
	Task        float64 `json:"longest_task_ms"`
	Elements    int
	Charts      int
}

func (b browser) look(t *testing.T, shots string, urls ...string) (all []finding) {
	t.Helper()
	args := append([]string{"-axe", b.axe, "-shots", shots}, urls...)
	cmd := exec.CommandContext(t.Context(), b.program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return all
}

// TestBrowserFindsNothingWrong looks at every page, light and dark, with 5,000 runs and a study of 2,000 trials behind it. STOKER_SHOTS names
// a folder for pictures. How long pages took is told, and asserted nowhere: machines differ.
func TestBrowserFindsNothingWrong(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	pages := w.crowd(5000, 2000)
	shots := os.Getenv("STOKER_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	for _, found := range b.look(t, shots, pages...) {
		path := strings.TrimPrefix(found.URL, w.url)
		t.Logf("%-60.60s %-5s loaded in %3.0f ms, longest task %3.0f ms, %d elements, %d charts", path, found.Scheme, found.Load, found.Task, found.Elements, found.Charts)
		if len(found.Violations) > 0 || len(found.Errors) > 0 {
			t.Errorf("%s, %s:\n%s", path, found.Scheme, strings.Join(slices.Concat(found.Violations, found.Errors), "\n"))
		}
	}
}

// crowd fills the bus, waits until the console has read it, and returns every kind of page.
func (w *world) crowd(runs, trials int) (pages []string) {
	w.t.Helper()
	w.apply(penguin)
	for i := range runs {
		run := fmt.Sprintf("run-%04d", i)
		w.publish(ready(run))
		if i%7 == 3 {
			w.publish(failed(run, "ValueError: out of paper"))
		} else if i%7 != 5 {
			w.publish(trained(run))
		}
	}
	w.publish(events.Fact{ID: "x", Source: "/up", Pipeline: "nosuch", Run: "lost", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}})
	w.buryOne()
	study := w.search(trials)
	w.shelve("s3://bkt/penguin/Trainer/model/"+digest[7:]+"/a1/Format-Serving/saved_model.pb", "a model")
	w.eventually("all runs are known", func() bool { return len(w.model.snapshot()) >= runs })
	w.model.progress(events.Progress{Job: "j", Pipeline: "penguin", Run: "run-0005", Attempt: "a", Phase: "training", Step: 1, Steps: 9, Time: time.Now(), Metrics: map[string]float64{"loss": 1, "val_loss": 2}})
	w.model.progress(events.Progress{Job: "j", Pipeline: "penguin", Run: "run-0005", Attempt: "a", Phase: "training", Step: 2, Steps: 9, Time: time.Now(), Metrics: map[string]float64{"loss": .5, "val_loss": 1}})
	for _, path := range []string{
		"/", "/?q=run-00&state=trained&page=2", "/run?pipeline=penguin&run=run-0001", "/run?pipeline=penguin&run=run-0003", "/run?pipeline=penguin&run=run-0005",
		"/compare?run=penguin/run-0001&run=penguin/run-0005", "/studies", "/study?pipeline=penguin&id=" + study, "/pipelines", "/pipeline?name=penguin", "/dead",
		"/letter?number=1", "/artifact?ref=s3://bkt/penguin/Trainer/model/" + digest[7:] + "/a1", "/lineage?pipeline=penguin&run=run-0001", "/token",
	} {
		pages = append(pages, w.url+path)
	}
	return pages
}

// TestBrowserWatchesARun stays on a run's page, which is loaded once, from the first fact to the model.
func TestBrowserWatchesARun(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	w.apply(penguin)
	w.publish(events.Fact{ID: "h", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/ex"}}}})
	w.dispatched()
	cmd := exec.CommandContext(t.Context(), b.program, "-axe", b.axe, "-watch", "waits for transform.ready", "-watch", "waits for a worker", "-watch", "step 2 of 4",
		"-watch", "step 3 of 4", "-watch", "0.875", w.url+"/run?pipeline=penguin&run=monday")
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, 256)
	next := func(want string) { // what the page has said lets the run go on
		t.Helper()
		n, err := said.Read(heard)
		if err != nil || strings.TrimSpace(string(heard[:n])) != want {
			t.Fatalf("the browser saw %q, %v; want %q", heard[:n], err, want)
		}
	}
	next("waits for transform.ready")
	w.publish(ready("monday"))
	w.dispatched()
	next("waits for a worker")
	claim, err := w.box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	for step := 2; step < 4; step++ {
		p := events.Progress{Job: job.ID, Pipeline: "penguin", Run: "monday", Attempt: "a", Phase: "training", Step: step, Steps: 4, Metrics: map[string]float64{"loss": 1}, Time: time.Now()}
		if err := w.box.Report(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		next(fmt.Sprintf("step %d of 4", step))
	}
	w.publish(trained("monday"))
	next("0.875")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
