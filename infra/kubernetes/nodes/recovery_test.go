package nodes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	Attempts []struct {
		Number  int
		Outcome string
	}
	Model struct{ URI string }
}

func (i *installation) show(t *testing.T, run string) (d details, text string) {
	t.Helper()
	text = i.stoker(t, "operator", "runs", "show", run, "-o", "json", "-q")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return d, text
}

// trains starts a long run, and waits until it has written a checkpoint. It returns its pod.
func (i *installation) trains(t *testing.T, pods *census, run string) life {
	t.Helper()
	before := len(pods.all())
	i.start(t, "long", run)
	eventually(t, 2*time.Minute, "run "+run+" trains", func() bool { d, _ := i.show(t, "long/"+run); return d.Progress.Step > 100_000 })
	return pods.all()[before]
}

// A node is drained while a model is trained on it: the worker writes a checkpoint and gives its
// job back, and a pod on another node continues. NATS loses one of its three servers meanwhile.
func TestADrainedNodeLosesNoTraining(t *testing.T) {
	pods := watchPods(t, release, workers)
	pod := stoker.trains(t, pods, "drained")
	d, _ := stoker.show(t, "long/drained")
	t.Logf("at step %d, %s drains", d.Progress.Step, pod.node)
	drain(t, pod.node)
	eventually(t, 5*time.Minute, "the run has a model", func() bool { d, _ := stoker.show(t, "long/drained"); return d.State == "trained" })
	_, text := stoker.show(t, "long/drained")
	t.Logf("pods: %s\n%s", pods.ends(), text)
	all := pods.all()
	if len(all) != 2 || all[1].node == pod.node {
		t.Errorf("got pods %+v, want two, on two nodes", all)
	}
}

// drain cordons a node and evicts its pods, as kubectl drain does, and waits until they are gone.
// The test uncordons it at its end.
func drain(t *testing.T, node string) {
	t.Helper()
	cordon := func(unschedulable bool) error {
		_, err := api.Kube.CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, unschedulable), metav1.PatchOptions{})
		return err
	}
	must(t, cordon(true))
	defer func() { must(t, cordon(false)) }()
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
}

// A pod that exceeds its memory amid training is killed by the kernel. Its job continues from the
// checkpoint in another pod, and counts as lost.
func TestAPodThatExceedsItsMemoryContinuesElsewhere(t *testing.T) {
	pods := watchPods(t, release, workers)
	pod := stoker.trains(t, pods, "large")
	must(t, api.ExceedMemory(t.Context(), release, pod.name))
	eventually(t, 5*time.Minute, "the run has a model", func() bool { d, _ := stoker.show(t, "long/large"); return d.State == "trained" })
	_, text := stoker.show(t, "long/large")
	t.Logf("pods: %s\n%s", pods.ends(), text)
	if ends := pods.ends(); !strings.Contains(ends, "OOMKilled") {
		t.Errorf("pods ended as %s, want one that was killed for its memory", ends)
	}
}

var _ = errors.Join
var _ = slices.Max[[]int]
