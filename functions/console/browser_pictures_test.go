//go:build browser

package console

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Pictures of pages that are kept: all of them in the first folder, light and dark, and those that
// infra/docs/console.md shows in the second.
const (
	keptPictures = "testdata/pictures"
	docsPictures = "../../infra/docs/pictures"
)

// TestBrowserPagesLookAsKept compares what a window shows of each page, wide and narrow, light and
// dark, with the picture that is kept. STOKER_PICTURES=keep keeps new ones instead, which is task
// console:pictures, and STOKER_SHOTS names a folder for those that differ.
func TestBrowserPagesLookAsKept(t *testing.T) {
	b, w := openBrowser(t), setup(t, nil)
	study := w.few()
	paths := []string{
		"/", "/workers", "/workers/worker-a-k3f9qz", "/runs", "/run?pipeline=penguin&run=monday", "/run?pipeline=penguin&run=live", "/run?pipeline=penguin&run=wrong",
		"/compare?run=penguin/run-1&run=penguin/run-2&run=penguin/run-4", "/lineage?pipeline=penguin&run=monday",
		"/artifact?ref=s3://bkt/penguin/Trainer/model/" + digest[7:] + "/a1",
		"/studies", "/study?pipeline=penguin&id=" + study, "/trial?pipeline=penguin&id=" + study + "&trial=12",
		"/pipelines", "/pipeline?name=penguin", "/revisions?name=penguin", "/dead", "/dead-letter?number=1",
	}
	w.compare(b, keptPictures, paths, "-width", "1440", "-width", "390")
	w.compare(b, docsPictures, []string{"/", "/run?pipeline=penguin&run=live"}, "-width", "1440", "-scheme", "light")
	w.compare(b, docsPictures, []string{"/study?pipeline=penguin&id=" + study}, "-width", "1440", "-scheme", "dark")
	w.compare(b, docsPictures, []string{"/runs"}, "-width", "390", "-scheme", "light")
}

// compare compares pages with the pictures of a folder, or keeps new ones.
func (w *world) compare(b browser, folder string, paths []string, args ...string) {
	w.t.Helper()
	shots := os.Getenv("STOKER_SHOTS")
	if shots == "" {
		shots = w.t.TempDir()
	}
	args = append(args, "-axe", b.axe, "-pictures", folder, "-shots", shots)
	switch how := os.Getenv("STOKER_PICTURES"); how {
	case "":
	case "keep":
		args = append(args, "-keep")
	default:
		w.t.Fatalf("STOKER_PICTURES: expected keep, got %q", how)
	}
	for _, path := range paths {
		args = append(args, w.url+path)
	}
	for _, found := range ask[[]finding](w.t, b, args...) {
		faults := append(found.Violations, found.Errors...)
		if found.Picture != "" {
			faults = append(faults, found.Picture)
		}
		if found.Overflow > 0 {
			faults = append(faults, fmt.Sprintf("the page is %d pixels wider than the window", found.Overflow))
		}
		if len(faults) > 0 {
			w.t.Errorf("%s, %d, %s:\n%s", strings.TrimPrefix(found.URL, w.url), found.Width, found.Scheme, strings.Join(faults, "\n"))
		}
	}
}

// few fills the bus and the store with little, the same each time, and returns its study.
func (w *world) few() (study string) {
	w.t.Helper()
	w.apply(penguin)
	w.apply(strings.Replace(penguin, "hyperparameters: none", "hyperparameters: none, seed: 7", 1))
	w.train("live")
	for i := range 12 {
		w.logRun(fmt.Sprintf("s3://bkt/penguin/Trainer/model_run/%d", i), float64(i*7%12)/12)
	}
	for i, run := range []string{"run-0", "run-1", "run-2", "wrong", "run-4", "monday"} {
		w.publish(ready(run))
		if run == "wrong" {
			w.publish(failed(run, "ValueError: Dimensions must be equal, but are 13 and 14 for '{{node mul}}' with input shapes: [?,13], [14].\nTraceback ..."))
			continue
		}
		event := logged12(trained(run), i)
		event.Data.(*events.ModelTrained).Metrics = map[string]float64{"accuracy": 0.875 - 0.01*float64(i*7%12), "loss": 0.375 + 0.03*float64(i*7%12)}
		w.publish(event)
	}
	w.publish(events.Event{ID: "x", Source: "/up", Pipeline: "nosuch", Run: "lost", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}})
	w.deadLetterOne()
	study = w.search(60)
	model := "s3://bkt/penguin/Trainer/model/" + digest[7:] + "/a1/Format-Serving/"
	w.shelve(model+"saved_model.pb", "a model")
	w.shelve(model+"variables/variables.index", "variables")
	w.eventually("all runs are known", func() bool { return len(w.model.snapshot()) >= 8 })
	w.sees("/runs", `class="spark"`)
	return study
}

// works reports workers, one of which has a job, until the test ends.
func (w *world) works(job events.WorkerJob) {
	w.t.Helper()
	busy, big, ended := exampleWorker("worker-a", 4, "cpu"), exampleWorker("gpu-node-1", 2, "gpu"), exampleWorker("spot-3", 4, "cpu")
	busy.Jobs, busy.Busy = []events.WorkerJob{job}, 1
	big.GPUs = []string{"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"}
	ended.Ended = true
	w.report(busy, big, ended)
	ctx, stop := context.WithCancel(w.t.Context())
	stopped := make(chan error, 1)
	go func() {
		var err error
		for beats := time.NewTicker(events.WorkerPause); err == nil; {
			select {
			case <-ctx.Done():
				beats.Stop()
				stopped <- nil
				return
			case <-beats.C:
				busy.Beat, big.Beat = busy.Beat+1, big.Beat+1
				err = errors.Join(w.bus.ReportWorker(ctx, busy), w.bus.ReportWorker(ctx, big))
			}
		}
		stopped <- err
	}()
	w.t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			w.t.Errorf("the heartbeats of workers: %v", err)
		}
	})
}

// train starts a training of a worker, which lasts until the test ends.
func (w *world) train(run string) {
	w.t.Helper()
	w.publish(ready(run))
	w.dispatched()
	claim, err := w.bus.Claim(w.t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		w.t.Fatal(err)
	}
	released := make(chan error, 1)
	go func() {
		released <- claim.KeepAlive(w.t.Context(), func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	w.t.Cleanup(func() {
		if err := <-released; err != nil {
			w.t.Errorf("the lease of run %s: %v", run, err)
		}
	})
	module := &printer{w: w, report: events.Progress{Job: job.ID, Pipeline: "penguin", Run: run, Attempt: claim.Attempt().ID, Phase: "training", Steps: 10000}}
	page := "/run?pipeline=penguin&run=" + run
	w.sees(page, "a worker is executing its job")
	now := time.Now()
	for step := range 40 {
		loss := 0.3 + math.Exp(-float64(step)/12)
		report := module.report
		report.Step, report.Time = 100*step, now.Add(time.Duration(step-40)*time.Second)
		report.Metrics = map[string]float64{"loss": loss, "val_loss": loss + 0.1, "accuracy": 1 - loss/2, "val_accuracy": 0.97 - loss/2}
		w.model.progress(report)
		if step%4 == 0 {
			module.print(fmt.Sprintf("Epoch %d/25 - loss: %.4f - accuracy: %.4f\n", step/4+1, loss, 1-loss/2))
		}
	}
	w.sees(page, "step 3,900 of 10,000", "Epoch 10/25")
	w.works(events.WorkerJob{Job: job.ID, Function: job.Function, Pipeline: job.Pipeline, Run: run, Attempt: claim.Attempt().ID, Number: 1, Phase: "training", Since: now})
}
