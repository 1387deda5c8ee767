package nodes_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// 1,000 runs get 1,000 pods on 1,000 nodes, one on each, as their requests demand. The nodes are
// KWOK's, so that the pods do nothing: this is about KEDA, the API server and the scheduler.
func TestThousandRunsGetThousandNodes(t *testing.T) {
	const count = 1000
	must(t, api.StartFakeNodes(t.Context(), count))
	pods := watchPods(t, release, workersOf("many"))
	began := time.Now()
	dir := t.TempDir()
	var publishing errgroup.Group
	for part := range 4 {
		publishing.Go(func() error {
			return stoker.startAll(t.Context(), dir, "many", fmt.Sprint("many-", part, "-"), count/4, 0)
		})
	}
	must(t, publishing.Wait())
	published := time.Since(began)
	eventually(t, 10*time.Minute, "all pods run", func() bool {
		running := 0
		for _, pod := range pods.all() {
			if !pod.started.IsZero() {
				running++
			}
		}
		return running >= count
	})
	took := time.Since(began)
	nodes := map[string]int{}
	var waited, slowest time.Duration
	for _, pod := range pods.all() {
		nodes[pod.node]++
		waited += pod.scheduled.Sub(pod.created)
		slowest = max(slowest, pod.scheduled.Sub(pod.created))
	}
	t.Logf("%d runs published in %s, %d pods on %d nodes after %s; a pod waits %s for its node, at most %s",
		count, published, len(pods.all()), len(nodes), took, waited/time.Duration(len(pods.all())), slowest)
	if len(pods.all()) != count || len(nodes) != count {
		t.Errorf("there are %d pods on %d nodes, want %d", len(pods.all()), len(nodes), count)
	}

	// Nothing will work on these jobs.
	scaled := schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledjobs"}
	found, err := api.Dynamic.Resource(scaled).Namespace(release).Get(t.Context(), "stoker-train-many", metav1.GetOptions{})
	must(t, err)
	pause := []byte(`{"metadata":{"annotations":{"autoscaling.keda.sh/paused":"true"}}}`)
	_, err = api.Dynamic.Resource(scaled).Namespace(release).Patch(t.Context(), found.GetName(), types.MergePatchType, pause, metav1.PatchOptions{})
	must(t, err)
	background := metav1.DeletePropagationBackground
	these := metav1.ListOptions{LabelSelector: workersOf("many")}
	eventually(t, 5*time.Minute, "the jobs are deleted", func() bool {
		// The server ends a request after a minute, and has then deleted some.
		_ = api.Kube.BatchV1().Jobs(release).DeleteCollection(t.Context(), metav1.DeleteOptions{PropagationPolicy: &background}, these)
		left, err := api.Kube.BatchV1().Jobs(release).List(t.Context(), these)
		must(t, err)
		return len(left.Items) == 0
	})
}
