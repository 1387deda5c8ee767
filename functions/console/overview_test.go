package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// exampleWorker is a worker as it reports itself.
func exampleWorker(host string, slots int, classes ...string) events.WorkerStatus {
	return events.WorkerStatus{
		ID: host[:min(len(host), 40)] + "-k3f9qz", Host: host, Functions: []events.Function{events.FunctionTrain, events.FunctionTrial}, Classes: classes, Slots: slots, Version: "v1.2.0",
		Started: time.Now().Add(-3 * time.Hour), Beat: 1,
	}
}

// report sends a heartbeat, and waits until the console has it.
func (w *world) report(all ...events.WorkerStatus) {
	w.t.Helper()
	for _, one := range all {
		if err := w.bus.ReportWorker(w.t.Context(), one); err != nil {
			w.t.Fatal(err)
		}
		w.eventually("worker "+one.ID+" is known", func() bool { found, known := w.workers.Worker(one.ID); return known && found.Beat >= one.Beat })
	}
}

// ended makes runs that ended up to a day ago.
func (w *world) ended(n int) {
	for i := range n {
		event := trained(fmt.Sprintf("nightly-%03d", i))
		if i%9 == 4 {
			event = failed(event.Run, fmt.Sprintf("ResourceExhausted: out of memory while allocating %d MiB", 100+i))
		}
		event.Pipeline = "taxi-tips"
		stored := time.Now().Add(-time.Duration(i*i%(23*60)) * time.Minute)
		w.model.Change(func(x *runs.Index) {
			x.ApplyEvent(events.Recorded{Event: event, Message: events.Message{Sequence: uint64(i + 1), Stored: stored}})
		})
	}
}

// claimed makes a run whose job is claimed, reports its progress, and returns the job as its worker
// reports it.
func (w *world) claimed(run string) events.WorkerJob {
	w.t.Helper()
	w.publish(ready(run))
	w.dispatched()
	claim, err := w.bus.Claim(w.t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	// Otherwise its progress is that of an unknown run.
	w.sees("/run?pipeline=penguin&run="+run, "running")
	job, err := claim.Job()
	if err == nil {
		err = w.bus.Report(w.t.Context(), events.Progress{
			Job: job.ID, Pipeline: job.Pipeline, Run: job.Run, Attempt: claim.Attempt().ID, Phase: "training", Step: 400, Steps: 1000, Time: time.Now(), Metrics: map[string]float64{"loss": 0.25},
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return events.WorkerJob{Job: job.ID, Function: job.Function, Pipeline: job.Pipeline, Run: job.Run, Attempt: claim.Attempt().ID, Number: 1, Phase: "training", Since: time.Now()}
}

// holds reports that a worker holds jobs.
func (w *world) holds(host string, jobs ...events.WorkerJob) {
	w.t.Helper()
	one := exampleWorker(host, 4, "cpu")
	one.Jobs, one.Busy, one.Beat = jobs, len(jobs), 2
	w.report(one)
}

// fleet makes what the first page shows: workers, queues, active runs and runs that have ended.
func (w *world) fleet() {
	w.t.Helper()
	big := exampleWorker("gpu-node-1", 2, "gpu")
	big.GPUs, big.Busy = []string{"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"}, 2
	leaving := exampleWorker("spot-17", 4, "cpu", "gpu")
	leaving.Draining = true
	gone := exampleWorker("spot-3", 4, "cpu")
	gone.Ended = true
	w.report(exampleWorker("worker-a", 4, "cpu"), exampleWorker("worker-b-with-a-name-that-is-as-long-as-kubernetes-makes-them-7d9c5b9f4-x2x8p", 8, "cpu"), big, leaving, gone)
	w.holds("worker-a", w.claimed("active-1"), w.claimed("active-2"), w.claimed("active-3"), w.claimed("active-4"))
	w.apply("pipeline: segments\nmodule: ./m\ntrainer: {hyperparameters: none, resources: {class: tpu}}\n")
	waits := ready("waits-for-a-tpu")
	waits.Pipeline = "segments"
	w.publish(waits)
	w.dispatched()
	w.ended(150)
}

func TestTheOverviewShowsWhatRuns(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	body := w.sees("/", "Nothing has happened here yet", "No run is active", "No worker is alive", "apply FILE.yaml", "No run has failed")
	if strings.Contains(body, "Studies that run") || !strings.Contains(body, `<a href="/" aria-current="page">Overview</a>`) {
		t.Errorf("an empty bus:\n%s", body)
	}
	w.report(exampleWorker("gpu-node-1", 2, "gpu"))
	if body = w.sees("/", "gpu-node-1", "Nothing has happened here yet"); strings.Contains(body, "Start a worker") {
		t.Errorf("a worker, and nothing else:\n%s", body)
	}
	w.apply(penguin)
	w.publish(ready("queued"))
	w.dispatched()
	w.sees("/", "no worker", `<a class="tile bad" href="/runs?q=state%3Dqueued%2Cheld">`)
	claim, err := w.bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err == nil {
		err = claim.Ack(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.publish(trained("queued"))
	w.holds("worker-a", w.claimed("monday"))
	w.sees("/", "monday", "step 400 of 1,000", "0.2500", `<a href="/workers/worker-a-k3f9qz">worker-a</a>`, "1 of 6 slots busy", "3 slots free")
	w.publish(failed("b", "boom 12"), failed("c", "boom 13\nTraceback"))
	body = w.sees("/", "boom #", "<b>2</b>")
	if strings.Contains(body, "boom 12") || strings.Contains(body, "Traceback") {
		t.Error("the reasons are not grouped")
	}
	// The link to a reason lists its runs.
	w.sees("/runs?q=state%3Dfailed+since%3D1d+error~boom", "b</a>", "c</a>")
}

func TestTheOverviewCountsRunsThatEndedByHour(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.ended(50)
	body := w.sees("/", "ResourceExhausted: out of memory while allocating # MiB", "By hour", "taxi-tips")
	if n := strings.Count(body, `class="touch"`); n != 24 {
		t.Errorf("%d hours are drawn", n)
	}
}

func TestWorkersAreListedWithTheirJobs(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.sees("/workers", "No worker is alive", "stoker worker")
	w.apply(penguin)
	big := exampleWorker("gpu-node", 2, "gpu")
	big.GPUs = []string{"H100", "H100", "A100"}
	leaving, gone := exampleWorker("spot-1", 1, "cpu"), exampleWorker("spot-2", 1, "cpu")
	leaving.Draining, gone.Ended = true, true
	w.report(big, leaving, gone)
	w.holds("worker-a", w.claimed("monday"))
	w.sees("/workers", "3 alive, 1 of 7 slots in use", `<a href="/run?pipeline=penguin&amp;run=monday">monday</a>`, "2 × H100", "draining", "Gone within the last hour", "it has ended")
	order := func(path string, want ...string) {
		t.Helper()
		body, at := w.sees(path), 0
		for _, id := range want {
			next := strings.Index(body[at:], ">"+id+"-k3f9qz</a>")
			if next < 0 {
				t.Errorf("%s does not list %q in this order", path, want)
				return
			}
			at += next
		}
		if n := strings.Count(body[:strings.Index(body+`id="gone"`, `id="gone"`)], `role="rowheader"`); n != len(want) {
			t.Errorf("%s lists %d workers, want %q", path, n, want)
		}
	}
	order("/workers", "gpu-node", "spot-1", "worker-a")
	order("/workers?sort=-worker", "worker-a", "spot-1", "gpu-node")
	order("/workers?sort=-slots", "worker-a", "gpu-node", "spot-1")
	order("/workers?sort=state", "spot-1", "gpu-node", "worker-a")
	order("/workers?sort=nothing&q=CPU", "spot-1", "worker-a")
	order("/workers?q=penguin/mon", "worker-a")
	w.sees("/workers?q=no-such", "No worker matches")
	w.sees("/workers/worker-a-k3f9qz", "monday", "training", "v1.2.0", "train, trial", "workers show worker-a-k3f9qz", `data-live="/live/workers/worker-a-k3f9qz"`)
	w.sees("/workers/spot-2-k3f9qz", "it has ended", "Jobs that it held at last")
	for path, want := range map[string]int{"/workers/nobody": 404, "/workers/%3Cb%3E": 400, "/workers/a%2Fb": 400} {
		if status, _ := w.get(path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
}

func TestWhatAWorkerReportsIsForeign(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	bad := exampleWorker("evil", 1, "cpu")
	bad.Host, bad.Version, bad.GPUs = "<script>alert(1)</script>", `"><img src=x>`, []string{"<i>"}
	bad.Jobs = []events.WorkerJob{{Job: "a1", Function: "train", Pipeline: "p", Run: "<script>alert(2)</script>", Attempt: "b2", Phase: "<b>"}}
	w.report(bad)
	for _, path := range []string{"/", "/workers", "/workers/evil-k3f9qz"} {
		body := w.sees(path, "&lt;script&gt;alert(")
		for _, text := range []string{"<script>alert", "<img src=x>", "<i>", "<b>\n", "> · <b>"} {
			if strings.Contains(body, text) {
				t.Errorf("%s takes %s for HTML", path, text)
			}
		}
	}
}
