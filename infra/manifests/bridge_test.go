package manifests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// A bridge is rendered only if the values enable it, and one that others can reach requires
// authentication.
func TestNoBridgeRunsUnlessValuesSaySo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"no values", "minimal", "tenant"} {
		for _, object := range render(t, name) {
			if component := object.GetLabels()["app.kubernetes.io/component"]; component == "bridge" || component == "upstream" {
				t.Errorf("%s: %s", name, object)
			}
		}
	}
	for want, text := range map[string]string{
		"bridge.http: whoever reaches it": `bridge: {http: {enabled: true}}`,
		"expected tlsSecret":              `bridge: {http: {enabled: true, clientCA: {secret: ca}}}`,
		// The port of probes.
		"/bridge/http/port":                      `bridge: {http: {enabled: true, tokenSecret: t, port: 9090}}`,
		"/bridge/http/pipelines/0":               `bridge: {http: {enabled: true, tokenSecret: t, pipelines: [A B]}}`,
		"/bridge/buckets/allow/0":                `bridge: {buckets: {enabled: true, allow: [penguin]}}`,
		"additional properties 'token' not allo": `bridge: {http: {enabled: true, token: secret}}`,
	} {
		values := map[string]any{}
		must(t, yaml.Unmarshal([]byte(text), &values))
		if _, err := manifests.Render(chart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

// Events arrive at the service's port, from peers that the values name, at pods of the role that
// publishes.
func TestEventsReachTheEndpoint(t *testing.T) {
	t.Parallel()
	var service corev1.Service
	var policy networking.NetworkPolicy
	var pod corev1.PodTemplateSpec
	for _, object := range render(t, "everything") {
		switch object.GetKind() + " " + object.GetName() {
		case "Service stoker-events":
			must(t, yaml.Unmarshal(object.Text, &service))
		case "NetworkPolicy stoker-events":
			must(t, yaml.Unmarshal(object.Text, &policy))
		case "Deployment stoker-upstream":
			var err error
			pod, _, err = manifests.Pod(object)
			must(t, err)
		}
	}
	c := pod.Spec.Containers[0]
	port := fmt.Sprint(c.Ports[1].ContainerPort)
	if c.Ports[1].Name != service.Spec.Ports[0].TargetPort.String() || fmt.Sprint(service.Spec.Ports[0].Port) != port || c.Args[2] != ":"+port {
		t.Errorf("pod %+v %v, service %+v", c.Ports, c.Args, service.Spec.Ports)
	}
	for key, want := range service.Spec.Selector {
		if pod.Labels[key] != want || policy.Spec.PodSelector.MatchLabels[key] != want {
			t.Errorf("%s is %s; pods have %s, the policy %v", key, want, pod.Labels[key], policy.Spec.PodSelector)
		}
	}
	from := policy.Spec.Ingress[0]
	if from.Ports[0].Port.String() != port || from.From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "knative-eventing" {
		t.Errorf("ingress %+v", from)
	}
	args := strings.Join(c.Args, " ")
	for _, want := range []string{"--http-token-file /etc/stoker/http-token/token", "--http-client-ca /etc/stoker/http-ca/ca.crt", "--http-pipeline penguin --http-pipeline fish"} {
		if !strings.Contains(args, want) {
			t.Errorf("%s: no %s", args, want)
		}
	}
	if domain := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "NATS_JETSTREAM_DOMAIN" }); domain < 0 || c.Env[domain].Value != "ACME" {
		t.Errorf("the domain of a tenant's publishers is the tenant: %+v", c.Env)
	}
}

// Files that a container's arguments name are mounted.
func TestFilesThatArgumentsNameAreMounted(t *testing.T) {
	t.Parallel()
	named := 0
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		c := pod.Spec.Containers[0]
		for _, arg := range c.Args {
			if !strings.HasPrefix(arg, "/etc/") {
				continue
			}
			named++
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(arg, m.MountPath+"/") }) {
				t.Errorf("%s: %s: nothing is mounted for %s", name, object, arg)
			}
		}
	})
	if named < 4 {
		t.Errorf("%d files are named", named)
	}
}
