package kubernetes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

// `helm test` creates the pod of `stoker doctor`, waits until it has ended, and reports how. What
// the pod finds is not tested here: no node runs it, and the test reports its end in a kubelet's
// place.
func TestHelmTestRunsTheDoctor(t *testing.T) {
	t.Parallel()
	namespace := api.namespace(t, nil)
	_, err := api.helm(t, "install", "stoker", chart, "-n", namespace, "-f", "../manifests/testdata/gpu.yaml")
	must(t, err)
	// The second pod replaces the first.
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		ended := kubelet(t, namespace, "stoker-doctor", phase)
		_, err := api.helm(t, "test", "stoker", "-n", namespace, "--timeout", "30s")
		if (err == nil) != (phase == corev1.PodSucceeded) || err != nil && !strings.Contains(err.Error(), "stoker-doctor") {
			t.Errorf("the pod has %s, and helm test says %v", phase, err)
		}
		must(t, <-ended)
	}
	pod, err := api.Kube.CoreV1().Pods(namespace).Get(t.Context(), "stoker-doctor", metav1.GetOptions{})
	must(t, err)
	if args := strings.Join(pod.Spec.Containers[0].Args, " "); args != "doctor --quick --class a100,cpu,gpu" {
		t.Errorf("the pod runs %s", args)
	}
}

// kubelet waits for a pod that has not run yet, and reports that it has ended. The channel has the
// error, if it could not.
func kubelet(t *testing.T, namespace, name string, phase corev1.PodPhase) <-chan error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() {
		ended <- kube.Poll(ctx, func() error {
			pod, err := api.Kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if pod.Status.Phase != corev1.PodPending {
				return fmt.Errorf("pod %s: %s", name, pod.Status.Phase)
			}
			pod.Status.Phase = phase
			_, err = api.Kube.CoreV1().Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
			return err
		})
	}()
	return ended
}
