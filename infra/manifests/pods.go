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

// Pod is what the pods of o look like; ok is false for what starts none.
func Pod(o Object) (pod corev1.PodTemplateSpec, ok bool, err error) {
	path, ok := templates[o.GetKind()]
	if !ok {
		return pod, false, nil
	}
	template, found, err := unstructured.NestedMap(o.Object, path...)
	if err != nil || !found {
		return pod, false, fmt.Errorf("%s: no pod template: %w", o, err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(template, &pod, true)
	return pod, true, err
}
