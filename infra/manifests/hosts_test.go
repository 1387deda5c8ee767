package manifests_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// hosts returns the objects of the case that has groups, by kind and name without what is behind
// it.
func hosts(t *testing.T, kind, name string) manifests.Object {
	t.Helper()
	for _, object := range render(t, "hosts") {
		if object.GetKind() == kind && strings.HasPrefix(object.GetName(), name) {
			return object
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return manifests.Object{}
}

// Each host gets the names that Kubernetes gives to the pods of an Indexed Job:
// <job>-<index>.<subdomain>.
func TestHostsOfAGroupAreCalledWhatKubernetesCallsThem(t *testing.T) {
	t.Parallel()
	scaled, stands := hosts(t, "ScaledJob", "stoker-train-wide"), hosts(t, "JobSet", "stoker-train-stands-")
	service := hosts(t, "Service", "stoker-train-wide")
	for _, test := range []struct {
		object      manifests.Object
		job         []string // where the Job's spec is
		domain      string   // that a headless service has
		count, port int
	}{
		{scaled, []string{"spec", "jobTargetRef"}, service.GetName(), 4, 7070},
		{stands, nil, stands.GetName(), 2, 8470},
	} {
		job := test.object.Object
		if test.job == nil {
			jobs, _, err := unstructured.NestedSlice(job, "spec", "replicatedJobs")
			must(t, err)
			job, test.job = jobs[0].(map[string]any), []string{"template", "spec"}
			subdomain, _, _ := unstructured.NestedString(test.object.Object, "spec", "network", "subdomain")
			if subdomain != test.domain {
				t.Errorf("%s: JobSet makes a service %s, and hosts are called .%s", test.object, subdomain, test.domain)
			}
		}
		spec, _, err := unstructured.NestedMap(job, test.job...)
		must(t, err)
		if got := fmt.Sprintln(spec["completions"], spec["parallelism"], spec["completionMode"]); got != fmt.Sprintln(test.count, test.count, "Indexed") {
			t.Errorf("%s: %v pods, %v at once, %v", test.object, spec["completions"], spec["parallelism"], spec["completionMode"])
		}
		pod, _, err := manifests.Pod(test.object)
		must(t, err)
		var want []string
		for rank := range test.count {
			want = append(want, fmt.Sprintf("$(STOKER_JOB)-%d.%s:%d", rank, test.domain, test.port))
		}
		args := pod.Spec.Containers[0].Args
		if got := args[slices.Index(args, "--hosts")+1]; got != strings.Join(want, ",") {
			t.Errorf("%s: --hosts %s, want %v", test.object, got, want)
		}
		if pod.Spec.Subdomain != test.domain || len(test.object.GetName()+"-group-0-64") > 63 {
			t.Errorf("%s: subdomain %s, want %s", test.object, pod.Spec.Subdomain, test.domain)
		}
		if stays := !slices.Contains(args, "--once"); stays != (test.object.GetKind() == "JobSet") {
			t.Errorf("%s: stays: %t", test.object, stays)
		}
	}
}

// The names are those of the group's pods alone, from before they are ready.
func TestTheNamesOfHostsAreThoseOfTheirPods(t *testing.T) {
	t.Parallel()
	var service corev1.Service
	must(t, yaml.UnmarshalStrict(hosts(t, "Service", "stoker-train-wide").Text, &service))
	pod, _, err := manifests.Pod(hosts(t, "ScaledJob", "stoker-train-wide"))
	must(t, err)
	if service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses {
		t.Errorf("the service is %+v", service.Spec)
	}
	if !selects(service.Spec.Selector, pod.Labels) {
		t.Errorf("selector %v, labels %v", service.Spec.Selector, pod.Labels)
	}
}

func selects(selector, labels map[string]string) bool {
	all := maps.Clone(labels)
	maps.Copy(all, selector)
	return len(selector) > 0 && maps.Equal(all, labels)
}

// Hosts reach each other at TensorFlow's port in their settings, and no other pod does.
func TestTheHostsOfAGroupAloneReachItsPorts(t *testing.T) {
	t.Parallel()
	for class, object := range map[string]manifests.Object{
		"wide": hosts(t, "ScaledJob", "stoker-train-wide"), "stands": hosts(t, "JobSet", "stoker-train-stands-"),
	} {
		var policy networkingv1.NetworkPolicy
		must(t, yaml.UnmarshalStrict(hosts(t, "NetworkPolicy", "stoker-hosts-"+class).Text, &policy))
		pod, _, err := manifests.Pod(object)
		must(t, err)
		var ports []string
		for _, port := range pod.Spec.Containers[0].Ports {
			if port.Name != "health" {
				ports = append(ports, strconv.Itoa(int(port.ContainerPort)))
			}
		}
		in, out := policy.Spec.Ingress[0], policy.Spec.Egress[0]
		for _, rule := range []struct {
			peers []networkingv1.NetworkPolicyPeer
			ports []networkingv1.NetworkPolicyPort
		}{{in.From, in.Ports}, {out.To, out.Ports}} {
			if len(rule.peers) != 1 || rule.peers[0].NamespaceSelector != nil || !selects(rule.peers[0].PodSelector.MatchLabels, pod.Labels) {
				t.Errorf("%s: peers %v", object, rule.peers)
			}
			var got []string
			for _, port := range rule.ports {
				got = append(got, port.Port.String())
			}
			if !slices.Equal(got, ports) || len(ports) != 1 {
				t.Errorf("%s: ports %v, want %v, one", object, got, ports)
			}
		}
		if !selects(policy.Spec.PodSelector.MatchLabels, pod.Labels) || selects(policy.Spec.PodSelector.MatchLabels, otherLabels(t)) {
			t.Errorf("%s: the policy is of %v", object, policy.Spec.PodSelector.MatchLabels)
		}
	}
}

// otherLabels returns those of a worker that is in no group.
func otherLabels(t *testing.T) map[string]string {
	t.Helper()
	pod, _, err := manifests.Pod(hosts(t, "ScaledJob", "stoker-train-cpu"))
	must(t, err)
	return pod.Labels
}
