package nodes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// workersOf selects the pods of workers of a class.
func workersOf(class string) string {
	return "app.kubernetes.io/component=worker,stoker.dev/class=" + class
}

// run is one of `stoker runs -o json`.
type run struct {
	Pipeline, Run, State string
}

// runs returns the states of all runs of a pipeline.
func (i *installation) runs(t *testing.T, pipeline string) map[string]string {
	t.Helper()
	var all []run
	out := i.stoker(t, "operator", "runs", "--pipeline", pipeline, "--limit", "100000", "-o", "json", "-q")
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	states := map[string]string{}
	for _, r := range all {
		states[r.Run] = r.State
	}
	return states
}

// start publishes the event of a run.
func (i *installation) start(t *testing.T, pipeline, run string) {
	t.Helper()
	must(t, i.publish(t.Context(), t.TempDir(), pipeline, run))
}

// startAll publishes the events of runs, which are numbered, with a pause after each.
func (i *installation) startAll(ctx context.Context, dir, pipeline, prefix string, count int, pause time.Duration) error {
	for n := range count {
		if err := i.publish(ctx, dir, pipeline, fmt.Sprint(prefix, n)); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	return nil
}

// publish publishes the event of a run. The event has an id, so that it may be published again.
func (i *installation) publish(ctx context.Context, dir, pipeline, run string) error {
	const inputs = "s3://stoker/acme/inputs/"
	event, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": run, "source": "/test", "type": "dev.stoker.transform.ready.v1", "subject": pipeline, "run": run,
		"datacontenttype": "application/json", "data": map[string]any{
			"transform_graph": inputs + "transform_graph", "schema": inputs + "schema", "force": true,
			"transformed_examples": []map[string]string{{"uri": inputs + "transformed_examples"}}, "examples": []map[string]string{{"uri": inputs + "examples"}},
		},
	})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, run+".json")
	if err := os.WriteFile(file, event, 0o600); err != nil {
		return err
	}
	_, err = i.output(ctx, "upstream", "publish", file)
	return err
}

// Single runs start one pod each, and after each there is none. The log says how long each step of
// a cold start takes, and how long a run takes with a worker that stays.
func TestOneRunStartsOnePod(t *testing.T) {
	idle, bytes, err := api.Memory(t.Context(), release)
	must(t, err)
	t.Logf("idle: %d pods with %d MiB", idle, bytes>>20)
	pods := watchPods(t, release, workersOf("cpu"))
	const count = 10
	var toPod, toNode, toProgram, toEnd, warm []time.Duration
	for n := range count {
		// At another time between two polls of KEDA.
		time.Sleep(time.Duration(n) * 5 * time.Second / count)
		began, run := time.Now(), fmt.Sprint("cold-", n)
		stoker.start(t, "penguin", run)
		eventually(t, 3*time.Minute, run+" has a model", func() bool { return stoker.runs(t, "penguin")[run] == "trained" })
		eventually(t, time.Minute, "no pod is left", func() bool { return pods.running() == 0 })
		all := pods.all()
		if len(all) != n+1 {
			t.Fatalf("%d runs started %d pods: %s", n+1, len(all), pods.ends())
		}
		pod := all[n]
		toPod, toNode = append(toPod, pod.created.Sub(began)), append(toNode, pod.scheduled.Sub(pod.created))
		toProgram, toEnd = append(toProgram, pod.started.Sub(pod.scheduled)), append(toEnd, pod.over.Sub(began))

		began = time.Now()
		stoker.start(t, "warm", run)
		eventually(t, time.Minute, "a worker that stays has trained "+run, func() bool { return stoker.runs(t, "warm")[run] == "trained" })
		warm = append(warm, time.Since(began))
	}
	t.Logf("%d cold runs: event to pod %s, to its node %s, to its program %s; event to its end %s", count, spread(toPod), spread(toNode), spread(toProgram), spread(toEnd))
	t.Logf("with a worker that stays, event to model %s", spread(warm))
}

// spread is the median of durations, the least and the greatest.
func spread(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("%.2f s (%.2f to %.2f)", all[len(all)/2].Seconds(), all[0].Seconds(), all[len(all)-1].Seconds())
}

// 100 runs at once start 100 pods, at most as many at a time as the class may have, each of which
// has one job.
func TestRunsFromZeroToManyToZero(t *testing.T) {
	pods := watchPods(t, release, workersOf("cpu"))
	const count = 100
	began := time.Now()
	must(t, stoker.startAll(t.Context(), t.TempDir(), "penguin", "run-", count, 0))
	published := time.Since(began)
	eventually(t, 15*time.Minute, "all runs have models", func() bool {
		trained := 0
		for run, state := range stoker.runs(t, "penguin") {
			if strings.HasPrefix(run, "run-") && state == "trained" {
				trained++
			}
		}
		return trained == count
	})
	took := time.Since(began)
	eventually(t, time.Minute, "no pod is left", func() bool { return pods.running() == 0 })
	t.Logf("%d runs in %s, published in %s: %.0f an hour; %d pods: %s", count, took, published, count/took.Hours(), len(pods.all()), pods.ends())
	if got := len(pods.all()); got != count {
		t.Errorf("%d runs started %d pods", count, got)
	}
}
