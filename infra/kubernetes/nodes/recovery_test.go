package nodes_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// details is what `stoker runs show -o json` says of a run.
type details struct {
	State    string
	Progress struct{ Step int }
	Attempts int
}

// show returns what is known of a run, also as text.
func (i *installation) show(t *testing.T, run string) (d details, text string) {
	t.Helper()
	text = i.stoker(t, "operator", "runs", "show", run, "-o", "json", "-q")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return d, text
}

// trains starts a long run, and waits until it has written a checkpoint. It returns its pod.
func (i *installation) trains(t *testing.T, pods *podRecords, run string) podRecord {
	t.Helper()
	before := len(pods.all())
	i.start(t, "long", run)
	eventually(t, 2*time.Minute, "run "+run+" trains", func() bool { d, _ := i.show(t, "long/"+run); return d.Progress.Step > 100_000 })
	return pods.all()[before]
}

// A node is drained while a model is trained on it: the worker writes a checkpoint and gives its
// job back, and a pod on another node continues. NATS loses one of its three servers meanwhile.
func TestADrainedNodeLosesNoTraining(t *testing.T) {
	pods := watchPods(t, release, workersOf("cpu"))
	pod := stoker.trains(t, pods, "drained")
	d, _ := stoker.show(t, "long/drained")
	t.Logf("at step %d, %s drains", d.Progress.Step, pod.node)
	defer drain(t, pod.node)()
	eventually(t, 5*time.Minute, "the run has a model", func() bool { d, _ := stoker.show(t, "long/drained"); return d.State == "trained" })
	stoker.wantResumed(t, "long/drained", d.Progress.Step)
	t.Logf("pods: %s", pods.ends())
	all := pods.all()
	if len(all) != 2 || all[1].node == pod.node {
		t.Errorf("got %d pods, the last on %s, want two, on two nodes", len(all), all[len(all)-1].node)
	}
}

// wantResumed checks that a run was trained in two attempts, and that the second began with a
// checkpoint of at least that step.
func (i *installation) wantResumed(t *testing.T, run string, step int) {
	t.Helper()
	if d, text := i.show(t, run); d.Attempts != 2 {
		t.Errorf("run %s has %d attempts, want 2:\n%s", run, d.Attempts, text)
	}
	log := i.stoker(t, "operator", "logs", run, "-q")
	found := regexp.MustCompile(`from a checkpoint" step=(\d+)`).FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("the last attempt of run %s began without a checkpoint:\n%s", run, log)
	}
	resumed, err := strconv.Atoi(found[1])
	must(t, err)
	t.Logf("run %s continued at step %d", run, resumed)
	if resumed < max(step, 1) {
		t.Errorf("run %s continued at step %d, want at least %d", run, resumed, step)
	}
}

// drain cordons a node and evicts its pods, as kubectl drain does, and waits until they are gone.
// The node takes no pods until the caller uncordons it.
func drain(t *testing.T, node string) (uncordon func()) {
	t.Helper()
	cordon := func(unschedulable bool) {
		patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, unschedulable)
		_, err := api.Kube.CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		must(t, err)
	}
	cordon(true)
	eventually(t, 3*time.Minute, node+" is drained", func() bool {
		pods, err := api.Kube.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		must(t, err)
		left := 0
		for _, pod := range pods.Items {
			if pod.Status.Phase == "Succeeded" || pod.Status.Phase == "Failed" {
				continue
			}
			left++
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
			err := api.Kube.PolicyV1().Evictions(pod.Namespace).Evict(t.Context(), eviction)
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) {
				t.Fatal(err)
			}
		}
		return left == 0
	})
	return func() { cordon(false) }
}

// A module exceeds the memory of its pod amid training. The kernel kills its process, and the
// worker in the same pod lets it continue from the checkpoint.
func TestAModuleThatExceedsItsMemoryContinues(t *testing.T) {
	pods := watchPods(t, release, workersOf("cpu"))
	pod := stoker.trains(t, pods, "large")
	must(t, api.ExceedMemory(t.Context(), release, pod.name))
	stoker.wantContinued(t, pods, "large")
}

// All processes of a pod are killed amid training, as the kernel does for memory on most machines.
// Another pod continues from the checkpoint.
func TestAPodThatIsKilledContinuesElsewhere(t *testing.T) {
	pods := watchPods(t, release, workersOf("cpu"))
	pod := stoker.trains(t, pods, "killed")
	must(t, api.KillProcesses(t.Context(), release, pod.name))
	stoker.wantContinued(t, pods, "killed")
	if all := pods.all(); len(all) != 2 || all[0].exit != 137 || all[1].exit != 0 {
		t.Errorf("pods ended as %s, want one that was killed and one that has trained", pods.ends())
	}
}

// wantContinued waits for the model of a run, whose second attempt continued the first.
func (i *installation) wantContinued(t *testing.T, pods *podRecords, run string) {
	t.Helper()
	eventually(t, 5*time.Minute, "run "+run+" has a model", func() bool { d, _ := i.show(t, "long/"+run); return d.State == "trained" })
	i.wantResumed(t, "long/"+run, 1)
	eventually(t, time.Minute, "no pod is left", func() bool { return pods.running() == 0 })
	t.Logf("pods: %s", pods.ends())
}

// killPod deletes a running pod without grace.
func killPod(t *testing.T, namespace, selector string) {
	t.Helper()
	pods, err := api.Kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector, FieldSelector: "status.phase=Running"})
	must(t, err)
	if len(pods.Items) == 0 {
		t.Fatalf("no pod of %s runs", selector)
	}
	now := int64(0)
	must(t, api.Kube.CoreV1().Pods(namespace).Delete(t.Context(), pods.Items[0].Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}
