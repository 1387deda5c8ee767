package manifests_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// workers returns the objects that start workers, by their names.
func workers(t *testing.T, name string) map[string]manifests.Object {
	t.Helper()
	all := map[string]manifests.Object{}
	for _, object := range render(t, name) {
		if object.GetLabels()["app.kubernetes.io/component"] == "worker" && (object.GetKind() == "ScaledJob" || object.GetKind() == "Deployment") {
			all[object.GetName()] = object
		}
	}
	return all
}

// Workers scale from zero: unless values set min, no worker runs while no job waits.
func TestNoWorkerStaysUnlessValuesSaySo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"no values", "minimal", "tenant", "gpu", "everything"} {
		found := workers(t, name)
		if len(found) == 0 {
			t.Errorf("%s: no workers", name)
		}
		for _, object := range found {
			least, _, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "minReplicaCount")
			must(t, err)
			strategy, _, err := unstructured.NestedMap(object.Object, "spec", "scalingStrategy")
			must(t, err)
			pod, _, err := manifests.Pod(object)
			must(t, err)
			if object.GetKind() != "ScaledJob" || least != 0.0 && least != int64(0) || strategy["strategy"] != "default" || !slices.Contains(pod.Spec.Containers[0].Args, "--once") {
				t.Errorf("%s: %s: at least %v, %v, %v", name, object, least, strategy, pod.Spec.Containers[0].Args)
			}
		}
	}
}

// Those that stay take jobs of the same queue as those that KEDA starts, one after another.
func TestWorkersStayAsValuesSay(t *testing.T) {
	t.Parallel()
	found := workers(t, "standing")
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	// A class whose workers all stay has none above them.
	want := []string{"stoker-train-cpu", "stoker-train-cpu-standing", "stoker-train-estimator", "stoker-train-gpu-standing", "stoker-trial-cpu", "stoker-tune-cpu"}
	if !slices.Equal(names, want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	var stays appsv1.Deployment
	must(t, yaml.Unmarshal(found["stoker-train-cpu-standing"].Text, &stays))
	scaled, _, err := manifests.Pod(found["stoker-train-cpu"])
	must(t, err)
	if *stays.Spec.Replicas != 2 || stays.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 0 {
		t.Errorf("%d replicas, %+v", *stays.Spec.Replicas, stays.Spec.Strategy)
	}
	pod := stays.Spec.Template
	args, once := pod.Spec.Containers[0].Args, scaled.Spec.Containers[0].Args
	if got := strings.Join(args, " "); got != "worker --functions train --classes cpu --grace 25s --python-idle 24h" || pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		t.Errorf("%s, started again: %s", got, pod.Spec.RestartPolicy)
	}
	if i := slices.Index(once, "--functions"); !slices.Equal(once[i:], args[1:len(args)-2]) || pod.Spec.Containers[0].Image != scaled.Spec.Containers[0].Image {
		t.Errorf("those that KEDA starts are others: %v, %v", once, args)
	}
	estimator, _, err := manifests.Pod(found["stoker-train-estimator"])
	must(t, err)
	if got := estimator.Spec.Containers[0].Image; !strings.HasSuffix(got, "-estimator") {
		t.Errorf("Estimators are trained in %s", got)
	}
	for key, value := range stays.Spec.Selector.MatchLabels {
		if pod.Labels[key] != value {
			t.Errorf("label %s of pods is %q, the Deployment wants %q", key, pod.Labels[key], value)
		}
	}
	if scaled.Labels["stoker.dev/standing"] != "" || stays.Spec.Selector.MatchLabels["stoker.dev/standing"] == "" {
		t.Errorf("the Deployment would take the pods of Jobs for its own: %v, %v", stays.Spec.Selector, scaled.Labels)
	}
}

// A job that a standing worker takes must not start another one: KEDA takes their number off the
// lag.
func TestJobsOfStandingWorkersStartNoOthers(t *testing.T) {
	t.Parallel()
	spec, _, err := unstructured.NestedMap(workers(t, "standing")["stoker-train-cpu"].Object, "spec")
	must(t, err)
	strategy, _, err := unstructured.NestedMap(spec, "scalingStrategy")
	must(t, err)
	deduction, most := strategy["customScalingQueueLengthDeduction"], spec["maxReplicaCount"]
	if strategy["strategy"] != "custom" || strategy["customScalingRunningJobPercentage"] != "1" ||
		deduction != 2.0 && deduction != int64(2) || most != 6.0 && most != int64(6) {
		t.Errorf("%v, at most %v", strategy, most)
	}
}

func TestValuesOfStandingWorkersAreChecked(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"min is 3, and max 2":              `classes: {cpu: {functions: {train: {min: 3, max: 2}}}}`,
		"a group of hosts stays by":        `classes: {cpu: {functions: {train: {min: 1, max: 2}, tune: null, trial: null}, hosts: {count: 2}}}`,
		"/classes/cpu/functions/train/min": `classes: {cpu: {functions: {train: {min: -1, max: 2}}}}`,
		"/classes/cpu/variant":             `classes: {cpu: {variant: tensorflow}}`,
	} {
		values := map[string]any{}
		must(t, yaml.Unmarshal([]byte(text), &values))
		if _, err := manifests.Render(chart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}
