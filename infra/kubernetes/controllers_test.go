package kubernetes_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
)

// made is what controllers make of an object: Jobs of ScaledJobs and JobSets, Pods of Jobs and
// Deployments, each named as its controller would name it. Only the longest names are made.
func made(object *unstructured.Unstructured) (all []*unstructured.Unstructured, err error) {
	switch object.GetKind() {
	case "Deployment":
		return podOf(object, object.GetName()+"-0123456789-abcde", "", "spec", "template")
	case "Pod":
		return nil, nil
	case "Job":
		return podsOfJob(object)
	case "ScaledJob":
		job, err := jobOfScaledJob(object)
		if err != nil {
			return nil, err
		}
		pods, err := podsOfJob(job)
		return append(pods, job), err
	case "JobSet":
		return madeOfJobSet(object)
	}
	return nil, nil
}

// jobOfScaledJob is the Job that KEDA creates: its name begins with that of the ScaledJob, which is
// also a label (pkg/scaling/executor of KEDA).
func jobOfScaledJob(scaled *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	spec, found, err := unstructured.NestedMap(scaled.Object, "spec", "jobTargetRef")
	if err != nil || !found {
		return nil, fmt.Errorf("%s: no jobTargetRef: %w", scaled.GetName(), err)
	}
	labels := map[string]string{"scaledjob.keda.sh/name": scaled.GetName()}
	maps.Copy(labels, scaled.GetLabels())
	job := objectOf("batch/v1", "Job", generated(scaled.GetName()), labels)
	job.Object["spec"] = spec
	return job, unstructured.SetNestedField(job.Object, scaled.GetName(), "spec", "template", "metadata", "labels", "scaledjob.keda.sh/name")
}

// generated is a name that the server makes of a prefix: at most 63 characters, of which the last
// five are random.
func generated(prefix string) string {
	prefix += "-"
	return prefix[:min(len(prefix), 58)] + "abcde"
}

// podsOfJob returns the pod of a Job. Of an Indexed Job it is the last one: its hostname is the
// longest.
func podsOfJob(job *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	mode, _, _ := unstructured.NestedString(job.Object, "spec", "completionMode")
	if mode != "Indexed" {
		return podOf(job, generated(job.GetName()), "", "spec", "template")
	}
	count, _, err := unstructured.NestedInt64(job.Object, "spec", "completions")
	if err != nil {
		return nil, err
	}
	host := fmt.Sprintf("%s-%d", job.GetName(), count-1)
	return podOf(job, generated(host), host, "spec", "template")
}

// podOf returns the pod that an object's template describes.
func podOf(object *unstructured.Unstructured, name, host string, template ...string) ([]*unstructured.Unstructured, error) {
	found, ok, err := unstructured.NestedMap(object.Object, template...)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s %s: no pod template: %w", object.GetKind(), object.GetName(), err)
	}
	labels, _, err := unstructured.NestedStringMap(found, "metadata", "labels")
	if err != nil {
		return nil, err
	}
	if object.GetKind() == "Job" {
		labels["batch.kubernetes.io/job-name"] = object.GetName()
	}
	pod := objectOf("v1", "Pod", name, labels)
	pod.Object["spec"] = runtime.DeepCopyJSONValue(found["spec"])
	if host != "" {
		err = unstructured.SetNestedField(pod.Object, host, "spec", "hostname")
	}
	return []*unstructured.Unstructured{pod}, err
}

// madeOfJobSet returns the last Job of each replicated job, and its last pod. JobSet refuses a set
// whose longest name of a pod is no label of DNS.
func madeOfJobSet(set *unstructured.Unstructured) (all []*unstructured.Unstructured, err error) {
	jobs, _, err := unstructured.NestedSlice(set.Object, "spec", "replicatedJobs")
	if err != nil {
		return nil, err
	}
	for _, replicated := range jobs {
		of := replicated.(map[string]any)
		spec, _, err := unstructured.NestedMap(of, "template", "spec")
		if err != nil {
			return nil, err
		}
		labels := map[string]string{"jobset.sigs.k8s.io/jobset-name": set.GetName()}
		job := objectOf("batch/v1", "Job", fmt.Sprintf("%s-%s-%d", set.GetName(), of["name"], of["replicas"].(int64)-1), labels)
		job.Object["spec"] = spec
		pods, err := podsOfJob(job)
		if err != nil {
			return nil, err
		}
		host, _, _ := unstructured.NestedString(pods[0].Object, "spec", "hostname")
		for _, bad := range validation.IsDNS1035Label(host + "-abcde") {
			err = errors.Join(err, fmt.Errorf("JobSet %s: pod %s-abcde: %s", set.GetName(), host, bad))
		}
		if err != nil {
			return nil, err
		}
		all = append(append(all, pods...), job)
	}
	return all, nil
}

// wantTest has the server check the pod of `helm test`.
func (s *server) wantTest(t *testing.T, namespace string, tests []*unstructured.Unstructured) {
	t.Helper()
	if len(tests) != 1 || tests[0].GetKind() != "Pod" {
		t.Fatalf("helm test creates %d objects, want a pod", len(tests))
	}
	if _, err := s.Create(t.Context(), namespace, tests[0], "All"); err != nil {
		t.Errorf("the pod of helm test: %v", err)
	}
}

func objectOf(version, kind, name string, labels map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	object.SetName(name)
	object.SetLabels(labels)
	return object
}

// wantMade has the server check all that controllers make of objects, and create none of it.
// Objects that the pods name, such as service accounts, must exist. It returns how many it checked.
func (s *server) wantMade(t *testing.T, namespace string, objects map[string]*unstructured.Unstructured) (checked int) {
	t.Helper()
	for name, object := range objects {
		all, err := made(object)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, one := range all {
			checked++
			if _, err := s.Create(t.Context(), namespace, one, "All"); err != nil {
				t.Errorf("%s: its %s: %v", name, one.GetKind(), err)
			}
		}
	}
	return checked
}
