package nodes_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

// The network policies of the chart let pods reach what they need, and nothing else: each address
// is tried from a pod with the labels of a component, and from a pod of another namespace.
func TestPodsReachWhatTheirPoliciesPermit(t *testing.T) {
	must(t, makeNamespace(t.Context(), "other"))
	console := podAddress(t, release, "app.kubernetes.io/component=console")
	dispatcher := podAddress(t, release, "app.kubernetes.io/component=dispatcher")
	nats := podAddress(t, "nats", "app=nats")
	const bus, store, monitor, api, kubelet, dns = "nats.nats.svc:4222", "s3.s3.svc:9000", "nats-headless.nats.svc:8222", "10.96.0.1:443", "172.30.0.11:10250", "10.96.0.10:53"
	for name, from := range map[string]struct {
		namespace    string
		labels       map[string]string
		open, closed []string
	}{
		"a worker": {release, component("worker"),
			[]string{bus, store, dns, dispatcher + ":9090"}, []string{monitor, api, kubelet, console + ":8080", nats + ":6222"}},
		"a dispatcher": {release, component("dispatcher"),
			[]string{bus, dns, dispatcher + ":9090"}, []string{store, monitor, api, kubelet, console + ":8080"}},
		"a console": {release, component("console"),
			[]string{bus, store, dns}, []string{monitor, api, kubelet}},
		"another namespace": {"other", nil,
			[]string{bus, store, monitor, dispatcher + ":9090"}, []string{console + ":8080", dispatcher + ":4222"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := dial(t, from.namespace, from.labels, append(slices.Clone(from.open), from.closed...))
			for _, address := range from.open {
				if got[address] != "open" {
					t.Errorf("%s: %s, want open", address, got[address])
				}
			}
			for _, address := range from.closed {
				if !strings.HasPrefix(got[address], "closed") {
					t.Errorf("%s: %s, want closed", address, got[address])
				}
			}
		})
	}
}

// component returns the labels of a component's pods.
func component(name string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "stoker", "app.kubernetes.io/instance": release, "app.kubernetes.io/component": name}
}

func podAddress(t *testing.T, namespace, selector string) string {
	t.Helper()
	pods, err := api.Kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector, FieldSelector: "status.phase=Running"})
	must(t, err)
	if len(pods.Items) == 0 {
		t.Fatalf("no pod of %s runs", selector)
	}
	return pods.Items[0].Status.PodIP
}

// dial tries addresses from a pod with those labels, and returns what came of each.
func dial(t *testing.T, namespace string, labels map[string]string, addresses []string) map[string]string {
	t.Helper()
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["tries"] = "addresses"
	pods := api.Kube.CoreV1().Pods(namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "dial-", Labels: labels},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "dial", Image: kube.ImageName("dial"), ImagePullPolicy: corev1.PullNever, Args: append([]string{"20s"}, addresses...),
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { _ = pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}) })
	eventually(t, 2*time.Minute, fmt.Sprint("pod ", pod.Name, " has ended"), func() bool {
		now, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		must(t, err)
		return now.Status.Phase == corev1.PodSucceeded
	})
	log, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	must(t, err)
	results := map[string]string{}
	for line := range strings.Lines(string(log)) {
		address, result, _ := strings.Cut(strings.TrimSpace(line), " ")
		results[address] = result
	}
	return results
}
