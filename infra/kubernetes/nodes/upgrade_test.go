package nodes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The chart is upgraded, to other values and to another version, and rolled back, while runs start
// and train. Each run gets one model, and no pod that has a job is removed.
func TestAnUpgradeUnderLoadLosesNoRun(t *testing.T) {
	pods := watchPods(t, release, workersOf("cpu"))
	const count = 40
	done := make(chan error, 1)
	go func() {
		for _, args := range [][]string{
			{"upgrade", release, "../../helm/stoker", "-n", release, "-f", "testdata/values.yaml", "--set", "log.level=debug", "--set", "classes.cpu.functions.train.max=4"},
			{"upgrade", release, "../../helm/stoker", "-n", release, "-f", "testdata/values.yaml", "--set", "classes.cpu.graceSeconds=20"},
			{"rollback", release, "1", "-n", release},
		} {
			time.Sleep(10 * time.Second)
			if _, err := api.Helm(t.Context(), args...); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	must(t, stoker.startAll(t.Context(), t.TempDir(), "penguin", "upgraded-", count, time.Second))
	must(t, <-done)
	stoker.wantEachTrainedOnce(t, "penguin", "upgraded-", count)
	must(t, api.Ready(t.Context(), release))
	for _, pod := range pods.all() {
		if pod.phase != corev1.PodSucceeded {
			t.Errorf("pod %s of %s ended as %s %s %d", pod.name, pod.node, pod.phase, pod.reason, pod.exit)
		}
	}
	t.Logf("%d runs, %d pods: %s", count, len(pods.all()), pods.ends())
}

// wantEachTrainedOnce waits until all runs with a prefix have ended, and checks that the log has
// one outcome of each: a model.
func (i *installation) wantEachTrainedOnce(t *testing.T, pipeline, prefix string, count int) {
	t.Helper()
	eventually(t, 10*time.Minute, "all runs have ended", func() bool {
		ended := 0
		for run, state := range i.runs(t, pipeline) {
			if strings.HasPrefix(run, prefix) && (state == "trained" || state == "failed") {
				ended++
			}
		}
		return ended == count
	})
	for n := range count {
		var d struct {
			State  string
			Events []struct{ Kind string }
		}
		text := i.stoker(t, "operator", "runs", "show", fmt.Sprint(pipeline, "/", prefix, n), "-o", "json", "-q")
		must(t, json.Unmarshal([]byte(text), &d))
		models := 0
		for _, event := range d.Events {
			if event.Kind == "model.trained" {
				models++
			}
		}
		if d.State != "trained" || models != 1 || len(d.Events) != 2 {
			t.Errorf("run %s%d is %s with %d models:\n%s", prefix, n, d.State, models, text)
		}
	}
}

// The workers' key on the bus is replaced while runs start: the secret first, then the servers,
// then the workers that stay. A pod that starts in between can't connect, and KEDA starts another.
// The old key is refused in the end.
func TestTheWorkersKeyIsReplaced(t *testing.T) {
	pods := watchPods(t, release, workersOf("cpu"))
	newer := filepath.Join(stoker.dir, "worker2.nk")
	public, err := stoker.command(t.Context(), "", "access", "key", newer).Output()
	must(t, err)
	seed, err := os.ReadFile(newer)
	must(t, err)

	const count = 20
	started, dir := make(chan error, 1), t.TempDir()
	go func() { started <- stoker.startAll(t.Context(), dir, "penguin", "rotated-", count, 2*time.Second) }()
	time.Sleep(5 * time.Second)
	patchSecret(t, release, tenant+"-worker", "seed", string(seed))
	stoker.setWorkerKey(t, strings.TrimSpace(string(public)))
	restart(t, "stoker-train-warm-standing")
	must(t, <-started)
	stoker.wantEachTrainedOnce(t, "penguin", "rotated-", count)
	t.Logf("%d runs, %d pods: %s", count, len(pods.all()), pods.ends())
	out, err := stoker.command(t.Context(), "worker", "worker", "--once", "--wait", "1s").CombinedOutput()
	if err == nil || !strings.Contains(strings.ToLower(string(out)), "authorization") {
		t.Errorf("the old key still works: %v\n%s", err, out)
	}
}

// setWorkerKey has the servers know this key of workers, and no other.
func (i *installation) setWorkerKey(t *testing.T, key string) {
	t.Helper()
	i.keys["worker"] = key
	accounts, err := i.accounts(t.Context())
	must(t, err)
	patchSecret(t, "nats", "nats-accounts", "accounts.conf", accounts)
	restartBus(t)
}

func patchSecret(t *testing.T, namespace, name, key, value string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"stringData": map[string]string{key: value}})
	must(t, err)
	_, err = api.Kube.CoreV1().Secrets(namespace).Patch(t.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
}

// anotherTemplate is a patch with which the pods of an object are replaced, as by kubectl rollout
// restart.
func anotherTemplate() []byte {
	return fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"restarted":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
}

// restartBus restarts the NATS servers, one after the other.
func restartBus(t *testing.T) {
	t.Helper()
	_, err := api.Kube.AppsV1().StatefulSets("nats").Patch(t.Context(), "nats", types.StrategicMergePatchType, anotherTemplate(), metav1.PatchOptions{})
	must(t, err)
	eventually(t, 3*time.Minute, "the servers have restarted", func() bool {
		set, err := api.Kube.AppsV1().StatefulSets("nats").Get(t.Context(), "nats", metav1.GetOptions{})
		must(t, err)
		s := set.Status
		return s.ObservedGeneration == set.Generation && s.UpdateRevision == s.CurrentRevision && s.AvailableReplicas == 3
	})
}

// restart restarts the pods of a deployment.
func restart(t *testing.T, deployment string) {
	t.Helper()
	_, err := api.Kube.AppsV1().Deployments(release).Patch(t.Context(), deployment, types.StrategicMergePatchType, anotherTemplate(), metav1.PatchOptions{})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	must(t, api.Ready(ctx, release))
}

// `helm test` runs `stoker doctor` in a pod, which finds nothing wrong.
func TestHelmTestFindsNothingWrong(t *testing.T) {
	out, err := api.Helm(t.Context(), "test", release, "-n", release, "--logs", "--timeout", "2m")
	t.Log(out)
	must(t, err)
}
