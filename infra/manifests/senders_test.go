package manifests_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// Notifier and exporter are rendered only if values enable them, and a missing value is an error.
func TestNotifierAndExporterAreOffByDefault(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"no values", "minimal"} {
		for _, object := range render(t, name) {
			component := object.GetLabels()["app.kubernetes.io/component"]
			if component == "notifier" || component == "exporter" || strings.Contains(object.GetName(), "notifier") || strings.Contains(object.GetName(), "exporter") {
				t.Errorf("%s: %s", name, object)
			}
		}
	}
	for want, text := range map[string]string{
		"notify.webhookSecret": `notify: {enabled: true}`,
		"lineage.url":          `lineage: {enabled: true}`,
		"/lineage/url":         `lineage: {enabled: true, url: "http://user:secret@marquez:5000"}`,
		"/notify/kinds/0":      `notify: {enabled: true, webhookSecret: hook, kinds: [everything]}`,
	} {
		values := map[string]any{}
		must(t, yaml.Unmarshal([]byte(text), &values))
		if _, err := manifests.Render(chart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

// Each has the credentials of a role of its own, and the notifier none of the store.
func TestNotifierAndExporterHaveNoMoreThanTheirRoles(t *testing.T) {
	t.Parallel()
	want := map[string]struct{ seed, key string }{
		"notifier": {"notes", ""}, "exporter": {"lineage", "store-exporter"}, "bridge": {"b", "store-bridge"}, "upstream": {"u", ""},
	}
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		role, asked := want[pod.Labels["app.kubernetes.io/component"]]
		if name != "everything" || !asked {
			return
		}
		delete(want, pod.Labels["app.kubernetes.io/component"])
		var seed, key string
		for _, env := range pod.Spec.Containers[0].Env {
			switch env.Name {
			case "NATS_SEED", "NATS_CREDS_TEXT":
				seed = env.ValueFrom.SecretKeyRef.Name
			case "AWS_SECRET_ACCESS_KEY":
				key = env.ValueFrom.SecretKeyRef.Name
			}
		}
		if seed != role.seed || key != role.key {
			t.Errorf("%s: seed of %q, store's key of %q; want %+v", object, seed, key, role)
		}
	})
	if len(want) > 0 {
		t.Errorf("not rendered: %v", want)
	}
}

// A pod may reach what the policies that select it allow.
func TestNotifierAndExporterReachTheirReceivers(t *testing.T) {
	t.Parallel()
	for component, want := range map[string][]int32{
		"notifier":   {53, 4222, 4317, 4318, 8443},
		"exporter":   {53, 443, 4222, 4317, 4318, 5000},
		"dispatcher": {53, 4222, 4317, 4318},
		"bridge":     {53, 443, 4222, 4317, 4318},
		"upstream":   {53, 4222, 4317, 4318},
	} {
		labels := map[string]string{
			"app.kubernetes.io/name": "stoker", "app.kubernetes.io/instance": "stoker", "app.kubernetes.io/component": component,
		}
		if got := reached(t, labels); !slices.Equal(got, want) {
			t.Errorf("%s reaches ports %v, want %v", component, got, want)
		}
	}
}

// reached returns the ports that a pod with these labels reaches, with the values of everything.
func reached(t *testing.T, labels map[string]string) (ports []int32) {
	t.Helper()
	for _, object := range render(t, "everything") {
		if object.GetKind() != "NetworkPolicy" {
			continue
		}
		var policy networking.NetworkPolicy
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &policy))
		if !isOf(policy.Spec, labels) {
			continue
		}
		for _, rule := range policy.Spec.Egress {
			for _, port := range rule.Ports {
				ports = append(ports, port.Port.IntVal)
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// isOf reports whether a policy is of pods with these labels.
func isOf(policy networking.NetworkPolicySpec, labels map[string]string) bool {
	for key, value := range policy.PodSelector.MatchLabels {
		if labels[key] != value {
			return false
		}
	}
	for _, rule := range policy.PodSelector.MatchExpressions {
		if !slices.Contains(rule.Values, labels[rule.Key]) {
			return false
		}
	}
	return true
}
