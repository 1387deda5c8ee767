package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

const (
	chart   = "../helm/stoker"
	manager = "test" // of fields that tests apply
)

// definitions are the files of modules that define the custom resources of the chart.
var definitions = map[string]string{
	"github.com/kedacore/keda/v2":                        "config/crd/bases/keda.sh_scaledjobs.yaml",
	"sigs.k8s.io/jobset":                                 "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
	"github.com/prometheus-operator/prometheus-operator": "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
}

// define creates the custom resources, and the runtime class that the values of GPUs name.
func (s *server) define(ctx context.Context) error {
	for module, file := range definitions {
		dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			return fmt.Errorf("go list -m %s: %w", module, err)
		}
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), file))
		if err != nil {
			return err
		}
		objects, err := decode(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, object := range objects {
			if _, err := s.create(ctx, "", object); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}, Handler: "nvidia"}
	if _, err := s.kube.NodeV1().RuntimeClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, group := range []string{"keda.sh/v1alpha1", "jobset.x-k8s.io/v1alpha2", "monitoring.coreos.com/v1"} {
		if err := s.served(ctx, group); err != nil {
			return err
		}
	}
	s.mapper.Reset()
	return nil
}

// served waits until the server serves a group of custom resources.
func (s *server) served(ctx context.Context, group string) error {
	return poll(ctx, func() error {
		_, err := s.kube.Discovery().ServerResourcesForGroupVersion(group)
		return err
	})
}

// decode reads the objects of a file of YAML.
func decode(text []byte) ([]*unstructured.Unstructured, error) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var objects []*unstructured.Unstructured
	for {
		var text json.RawMessage
		err := documents.Decode(&text)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// at returns the client of an object's kind, in a namespace unless the kind has none.
func (s *server) at(namespace string, kind schema.GroupVersionKind) (dynamic.ResourceInterface, error) {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == "namespace" {
		return s.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
	}
	return s.dynamic.Resource(mapping.Resource), nil
}

// create creates an object. Fields that the server does not know are errors.
func (s *server) create(ctx context.Context, namespace string, object *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	client, err := s.at(namespace, object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return client.Create(ctx, object, metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun})
}

// namespace makes one that enforces the Pod Security Standard `restricted`, with the service
// account that a controller makes in each. The labels are more of its own.
func (s *server) namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	all := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}
	maps.Copy(all, labels)
	made, err := s.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "stoker-", Labels: all}}, metav1.CreateOptions{})
	must(t, err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = s.kube.CoreV1().ServiceAccounts(made.Name).Create(t.Context(), account, metav1.CreateOptions{})
	must(t, err)
	return made.Name
}

// helm runs Helm as the administrator, and returns its output.
func (s *server) helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "helm"), append(args, "--qps", "1000", "--burst-limit", "1000")...)
	cmd.Env = []string{"HOME=" + s.dir, "KUBECONFIG=" + s.kubeconfig, "HELM_DRIVER=configmap"}
	var out, warnings bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &warnings
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("helm %s: %w\n%s%s", strings.Join(args, " "), err, &out, &warnings)
	}
	return out.String(), err
}

// render returns the objects of `helm template`, and those that `helm test` creates.
func (s *server) render(t *testing.T, chart, release, namespace string, args ...string) (objects, tests []*unstructured.Unstructured, err error) {
	t.Helper()
	out, err := s.helm(t, append([]string{"template", release, chart, "-n", namespace}, args...)...)
	if err != nil {
		return nil, nil, err
	}
	all, err := decode([]byte(out))
	for _, object := range all {
		if object.GetAnnotations()["helm.sh/hook"] == "test" {
			tests = append(tests, object)
		} else {
			objects = append(objects, object)
		}
	}
	return objects, tests, err
}

// have returns the objects of a release, of all kinds that the server has.
func (s *server) have(t *testing.T, release, namespace string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	add := func(resource schema.GroupVersionResource, selector string) {
		list, err := s.dynamic.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		must(t, err)
		for _, object := range list.Items {
			found[object.GetKind()+" "+object.GetName()] = &object
		}
	}
	resources, err := s.namespaced()
	must(t, err)
	for _, resource := range resources {
		add(resource, "app.kubernetes.io/instance="+release)
	}
	for _, helms := range []string{"configmaps", "secrets"} {
		add(schema.GroupVersionResource{Version: "v1", Resource: helms}, "owner=helm,name="+release)
	}
	return found
}

// listable returns the resources of namespaces that can be listed.
func (s *server) listable() (all []schema.GroupVersionResource, err error) {
	groups, err := s.kube.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range group.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				all = append(all, version.WithResource(resource.Name))
			}
		}
	}
	if len(all) < 20 {
		return nil, fmt.Errorf("the server has %d kinds of objects", len(all))
	}
	return all, nil
}

// specs returns the text of each object's spec, without what the server chooses: addresses of
// services, and the UID that a Job has in its selector.
func specs(objects map[string]*unstructured.Unstructured) (map[string]string, error) {
	all := map[string]string{}
	for name, object := range objects {
		object = object.DeepCopy()
		if address, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); address != "None" {
			unstructured.RemoveNestedField(object.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(object.Object, "spec", "clusterIPs")
		}
		text, err := json.Marshal(object.Object["spec"])
		if err != nil {
			return nil, err
		}
		all[name] = strings.ReplaceAll(string(text), string(object.GetUID()), "UID")
	}
	return all, nil
}
