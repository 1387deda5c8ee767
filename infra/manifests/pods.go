package manifests

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// templates are where kinds keep the pods that they start.
var templates = map[string][]string{
	"Deployment": {"spec", "template"},
	"Job":        {"spec", "template"},
	"ScaledJob":  {"spec", "jobTargetRef", "template"},
}

// Pod is what the pods of o look like; ok is false for what starts none. Those of a JobSet are all
// alike.
func Pod(o Object) (pod corev1.PodTemplateSpec, ok bool, err error) {
	within, path := o.Object, templates[o.GetKind()]
	if o.GetKind() == "JobSet" {
		jobs, _, _ := unstructured.NestedSlice(o.Object, "spec", "replicatedJobs")
		if len(jobs) != 1 {
			return pod, false, fmt.Errorf("%s: expected one replicated job, got %d", o, len(jobs))
		}
		within, path = jobs[0].(map[string]any), []string{"template", "spec", "template"}
	}
	if path == nil {
		return pod, false, nil
	}
	template, found, err := unstructured.NestedMap(within, path...)
	if err != nil || !found {
		return pod, false, fmt.Errorf("%s: no pod template: %w", o, err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(template, &pod, true)
	return pod, true, err
}
