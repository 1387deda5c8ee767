package kubernetes_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

const chart = "../helm/stoker"

// namespace makes one that enforces the Pod Security Standard `restricted`, with the service
// account that a controller makes in each. The labels are more of its own.
func (s *server) namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	all := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}
	maps.Copy(all, labels)
	made, err := s.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "stoker-", Labels: all}}, metav1.CreateOptions{})
	must(t, err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = s.Kube.CoreV1().ServiceAccounts(made.Name).Create(t.Context(), account, metav1.CreateOptions{})
	must(t, err)
	return made.Name
}

// helm runs Helm as the administrator, and returns its output.
func (s *server) helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return s.Helm(t.Context(), args...)
}

// render returns the objects of `helm template`, and those that `helm test` creates.
func (s *server) render(t *testing.T, chart, release, namespace string, args ...string) (objects, tests []*unstructured.Unstructured, err error) {
	t.Helper()
	out, err := s.helm(t, append([]string{"template", release, chart, "-n", namespace}, args...)...)
	if err != nil {
		return nil, nil, err
	}
	all, err := kube.Decode([]byte(out))
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
		list, err := s.Dynamic.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		must(t, err)
		for _, object := range list.Items {
			found[object.GetKind()+" "+object.GetName()] = &object
		}
	}
	resources, err := s.Listable()
	must(t, err)
	for _, resource := range resources {
		add(resource, "app.kubernetes.io/instance="+release)
	}
	for _, helms := range []string{"configmaps", "secrets"} {
		add(schema.GroupVersionResource{Version: "v1", Resource: helms}, "owner=helm,name="+release)
	}
	return found
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
