package nodes_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// podRecord is what became of a pod, and when it was seen.
type podRecord struct {
	name, node, function              string
	created, scheduled, started, over time.Time
	phase                             corev1.PodPhase
	reason                            string // of the end of its container
	exit                              int32
}

// podRecords records all pods with a label, also those that are gone.
type podRecords struct {
	mu   sync.Mutex
	pods map[string]*podRecord
}

// watchPods records the pods of a namespace with a label until the test ends.
func watchPods(t *testing.T, namespace, selector string) *podRecords {
	t.Helper()
	pods := api.Kube.CoreV1().Pods(namespace)
	options := metav1.ListOptions{LabelSelector: selector}
	c := &podRecords{pods: map[string]*podRecord{}}
	before, err := pods.List(t.Context(), options)
	must(t, err)
	known := map[string]bool{}
	for _, pod := range before.Items {
		known[pod.Name] = true
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(t.Context(), before.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return pods.Watch(ctx, o)
		},
	})
	must(t, err)
	go func() {
		for change := range watcher.ResultChan() {
			if pod, ok := change.Object.(*corev1.Pod); ok && !known[pod.Name] {
				c.see(pod)
			}
		}
	}()
	return c
}

func (c *podRecords) see(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	l := c.pods[pod.Name]
	if l == nil {
		l = &podRecord{name: pod.Name, function: pod.Labels["stoker.dev/function"], created: now}
		c.pods[pod.Name] = l
	}
	l.phase, l.node = pod.Status.Phase, pod.Spec.NodeName
	first := func(at *time.Time, so bool) {
		if so && at.IsZero() {
			*at = now
		}
	}
	first(&l.scheduled, pod.Spec.NodeName != "")
	first(&l.started, pod.Status.Phase != corev1.PodPending)
	first(&l.over, pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
	for _, status := range pod.Status.ContainerStatuses {
		if end := status.State.Terminated; end != nil {
			l.reason, l.exit = end.Reason, end.ExitCode
		}
	}
}

// all returns the pods in the order of their creation.
func (c *podRecords) all() []podRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	var records []podRecord
	for _, l := range c.pods {
		records = append(records, *l)
	}
	slices.SortFunc(records, func(a, b podRecord) int { return a.created.Compare(b.created) })
	return records
}

// running returns how many pods are not over.
func (c *podRecords) running() (n int) {
	for _, l := range c.all() {
		if l.over.IsZero() {
			n++
		}
	}
	return n
}

// ends counts the pods by how they ended.
func (c *podRecords) ends() string {
	counts := map[string]int{}
	for _, l := range c.all() {
		end := fmt.Sprintf("%s %s", l.phase, l.reason)
		if l.exit != 0 {
			end += fmt.Sprint(" ", l.exit)
		}
		counts[end]++
	}
	var all []string
	for _, end := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[end], end))
	}
	return strings.Join(all, ", ")
}

// eventually waits until something is so, at most for the time of the test.
func eventually(t *testing.T, within time.Duration, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !so(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so within %s: %s", within, what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
