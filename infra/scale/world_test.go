package scale_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/infra/scale"
	"github.com/stoker-ml/stoker/local/bucket/buckettest"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
)

// world is a bus, a store, a dispatcher and the ScaledJobs.
type world struct {
	t       *testing.T
	judge   judge
	binary  string
	dir     string
	environ []string
	monitor string
	bus     *jetstream.Bus
	data    storage.Ref
}

// rockhopper trains long enough to be disturbed.
var pipelines = map[string]func(string) string{
	"penguin": func(text string) string { return text },
	"rockhopper": func(text string) string {
		text = strings.Replace(text, "pipeline: penguin", "pipeline: rockhopper", 1)
		text = strings.Replace(text, "num_steps: 100", "num_steps: 200000", 1)
		return text + "  resources: {class: gpu}\n"
	},
}

func newWorld(t *testing.T, judge judge) *world {
	t.Helper()
	store, root := buckettest.New(t)
	config := buckettest.Config(t)
	server, bus := startBus(t)
	w := &world{t: t, judge: judge, dir: t.TempDir(), monitor: server.MonitorAddress(), bus: bus, data: root.Join("data")}
	w.binary = build(t, w.dir)
	w.environ = []string{ // that of a container: only these variables
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TMPDIR=" + w.dir,
		"NATS_URL=" + server.URL(), "STOKER_ROOT=" + root.Join("artifacts").String(),
		"AWS_ENDPOINT_URL=" + config.Endpoint, "AWS_ACCESS_KEY_ID=" + config.AccessKey, "AWS_SECRET_ACCESS_KEY=" + config.SecretKey,
	}
	must(t, demo.Upload(t.Context(), store, w.data))
	_, text := demo.PipelineFile()
	for name, change := range pipelines {
		p, err := pipeline.Parse(name+".yaml", []byte(change(string(text))))
		must(t, err)
		_, _, err = dispatch.Apply(t.Context(), bus, p)
		must(t, err)
	}
	w.start("dispatcher", "dispatch")
	return w
}

func build(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "stoker")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../functions/stoker")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build stoker: %v\n%s", err, out)
	}
	return binary
}

// publish publishes the events of runs, each with force set: otherwise the same data would be used
// for training only once.
func (w *world) publish(name string, runs int) {
	w.t.Helper()
	for i := range runs {
		run := fmt.Sprintf("%s-%d", name, i)
		for _, event := range demo.Events(w.data, run) {
			event.Pipeline = name
			if transform, ok := event.Data.(*events.TransformReady); ok {
				transform.Force = true
			}
			_, err := w.bus.Publish(w.t.Context(), event)
			must(w.t, err)
		}
	}
}

// scaled returns one ScaledJob as it is deployed: a function and a class of resources.
func (w *world) scaled(class string, most int64) *scaled {
	name := string(events.FunctionTrain) + "-" + class
	return &scaled{
		w: w, class: class, spec: scale.ScaledJob{PerJob: 1, Max: most},
		consumer: scale.Consumer{Monitor: w.monitor, Stream: events.StreamJobs, Name: name},
	}
}

func (w *world) eventually(what string, so func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(pollingInterval) {
		if time.Now().After(deadline) {
			w.t.Fatalf("not so after %s: %s", patience, what)
		}
	}
}

// wantModels checks that each run has one model.
func (w *world) wantModels(want int) {
	w.t.Helper()
	trained := map[string]int{}
	for recorded, err := range w.bus.Read(w.t.Context(), events.Query{Kinds: events.OutcomeKinds()}) {
		must(w.t, err)
		if failed, ok := recorded.Event.Data.(*events.TrainingFailed); ok {
			w.t.Errorf("run %s failed: %s", recorded.Event.Run, failed.Message)
			continue
		}
		trained[recorded.Event.Run]++
	}
	if len(trained) != want {
		w.t.Errorf("%d runs have models, want %d: %v", len(trained), want, trained)
	}
	for run, models := range trained {
		if models != 1 {
			w.t.Errorf("run %s has %d models", run, models)
		}
	}
}
