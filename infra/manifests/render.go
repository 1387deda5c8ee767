package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Object is one manifest.
type Object struct {
	unstructured.Unstructured
	File string // the template that it comes from
	Text []byte // as it was rendered
}

func (o Object) String() string { return o.GetKind() + " " + o.GetName() + " (" + o.File + ")" }

// Render renders the chart in dir as `helm template stoker -n stoker` does, with values merged into
// its own, which are checked by its schema.
func Render(dir string, values map[string]any) ([]Object, error) {
	return RenderRelease(dir, "stoker", values)
}

// RenderRelease renders the chart for a release of another name.
func RenderRelease(dir, name string, values map[string]any) ([]Object, error) {
	chart, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: name, Namespace: "stoker", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		found, err := split(path.Base(name), files[name])
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// split reads the documents of one file.
func split(file, text string) ([]Object, error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var objects []Object
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		object := Object{File: file, Text: document}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", file, err, document)
		}
		if len(bytes.TrimSpace(document)) > 0 && object.Object != nil {
			objects = append(objects, object)
		}
	}
}

// templates are the paths of the pod templates by kind.
var templates = map[string][]string{
	"Deployment": {"spec", "template"},
	"Job":        {"spec", "template"},
	"ScaledJob":  {"spec", "jobTargetRef", "template"},
}

// Pod returns the template of the pods that o starts; ok is false if it starts none. Those of a
// JobSet are all alike.
func Pod(o Object) (pod corev1.PodTemplateSpec, ok bool, err error) {
	within, path := o.Object, templates[o.GetKind()]
	switch o.GetKind() {
	case "Pod":
		template := map[string]any{"metadata": o.Object["metadata"], "spec": o.Object["spec"]}
		within, path = map[string]any{"template": template}, []string{"template"}
	case "JobSet":
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
