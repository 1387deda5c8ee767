package kubernetes_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

// policed is the label of namespaces for which the policies are.
var policed = map[string]string{"policies": "enforced"}

// The policies of a platform team admit a release with digests, and every pod of its workloads.
// Each policy refuses what it is for.
func TestPoliciesOfAPlatformAdmitTheChart(t *testing.T) {
	t.Parallel()
	namespace := api.namespace(t, policed)
	names := enforce(t)
	values := []string{
		"--set", "image.digests.stoker=" + digest, "--set", "notify.enabled=true,notify.webhookSecret=hook", "--set", "bridge.http.enabled=true,bridge.http.tokenSecret=t",
	}
	_, err := api.helm(t, append([]string{"install", "stoker", chart, "-n", namespace}, values...)...)
	must(t, err)
	_, tests, err := api.render(t, chart, "stoker", namespace, values...)
	must(t, err)
	objects := api.have(t, "stoker", namespace)
	pod := aPod(t, objects)
	wantPolicies(t, namespace, pod, names)
	if n := api.wantMade(t, namespace, objects); n < 10 {
		t.Errorf("%d Jobs and Pods were checked", n)
	}
	api.wantTest(t, namespace, tests)
	// Without digests each pod is refused.
	without := api.namespace(t, policed)
	_, err = api.helm(t, "install", "stoker", chart, "-n", without)
	must(t, err)
	_, err = api.Create(t.Context(), without, aPod(t, api.have(t, "stoker", without)), "All")
	if err == nil || !strings.Contains(err.Error(), "images are named by digest") {
		t.Errorf("a pod without a digest: got %v", err)
	}
}

// enforce creates the policies, and binds them to policed namespaces. It returns their names.
func enforce(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/policies.yaml")
	must(t, err)
	policies, err := kube.Decode(text)
	must(t, err)
	for _, policy := range policies {
		names = append(names, policy.GetName())
		_, err := api.Create(t.Context(), "", policy)
		must(t, err)
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy.GetName()}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.GetName(), ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: policed}},
		}}
		_, err = api.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{})
		must(t, err)
	}
	return names
}

// aPod returns a pod of the dispatcher.
func aPod(t *testing.T, objects map[string]*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	pods, err := made(objects["Deployment stoker-dispatcher"])
	must(t, err)
	return pods[0]
}

// broken makes of an object one that a policy must refuse, with the message.
var broken = map[string]map[string]func(container, spec, metadata map[string]any){
	"images-by-digest": {"images are named by digest": func(c, _, _ map[string]any) { c["image"] = "stoker:v1" }},
	"no-tokens": {
		"pods have no token of the API server":     func(_, spec, _ map[string]any) { spec["automountServiceAccountToken"] = true },
		"pods have a service account of their own": func(_, spec, _ map[string]any) { spec["serviceAccountName"] = "default" },
	},
	"read-only-roots": {
		"the root of containers is read-only": func(c, _, _ map[string]any) { delete(c["securityContext"].(map[string]any), "readOnlyRootFilesystem") },
		"empty directories have a limit": func(_, spec, _ map[string]any) {
			spec["volumes"] = append(spec["volumes"].([]any), map[string]any{"name": "more", "emptyDir": map[string]any{}})
		},
	},
	"limited-memory": {"containers request processors, and limit their memory": func(c, _, _ map[string]any) { delete(c, "resources") }},
	"labels":         {"pods have the recommended labels": func(_, _, metadata map[string]any) { metadata["labels"] = map[string]any{"a": "b"} }},
}

// wantPolicies waits until each policy refuses a pod that breaks it. The server begins to enforce a
// policy some time after it was created.
func wantPolicies(t *testing.T, namespace string, pod *unstructured.Unstructured, names []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, name := range names {
		if name == "no-public-services" {
			continue // of services, below
		}
		if len(broken[name]) == 0 {
			t.Errorf("nothing breaks the policy %s", name)
		}
		for message, breakIt := range broken[name] {
			bad := pod.DeepCopy()
			spec := bad.Object["spec"].(map[string]any)
			breakIt(spec["containers"].([]any)[0].(map[string]any), spec, bad.Object["metadata"].(map[string]any))
			must(t, kube.Poll(ctx, func() error { return wantMessage(ctx, namespace, bad, message) }))
		}
	}
	service := objectOf("v1", "Service", "public", nil)
	service.Object["spec"] = map[string]any{"type": "LoadBalancer", "ports": []any{map[string]any{"port": int64(80)}}}
	must(t, kube.Poll(ctx, func() error {
		return wantMessage(ctx, namespace, service, "services are reached from the cluster alone")
	}))
}

// wantMessage returns an error unless the server refuses an object with a message.
func wantMessage(ctx context.Context, namespace string, object *unstructured.Unstructured, message string) error {
	_, err := api.Create(ctx, namespace, object, "All")
	if err == nil || !strings.Contains(err.Error(), message) {
		return fmt.Errorf("%s: got %v, want %q", object.GetKind(), err, message)
	}
	return nil
}

// The Pod Security Standard is enforced: the server refuses a pod that may run as root.
func TestTheServerEnforcesThePodSecurityStandard(t *testing.T) {
	t.Parallel()
	namespace := api.namespace(t, nil)
	_, err := api.helm(t, "install", "stoker", chart, "-n", namespace)
	must(t, err)
	pod := aPod(t, api.have(t, "stoker", namespace))
	if _, err := api.Create(t.Context(), namespace, pod.DeepCopy(), "All"); err != nil {
		t.Errorf("the pod of the chart: %v", err)
	}
	for _, field := range []string{"runAsNonRoot", "seccompProfile"} {
		bad := pod.DeepCopy()
		unstructured.RemoveNestedField(bad.Object, "spec", "securityContext", field)
		if _, err := api.Create(t.Context(), namespace, bad, "All"); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") || !strings.Contains(err.Error(), field) {
			t.Errorf("a pod without %s: got %v", field, err)
		}
	}
}
