package kubernetes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// longest are classes whose names are as long as Kubernetes takes them, each with the beginning of
// its names.
var longest = []struct{ what, name, class, more string }{
	{"one pod a job", strings.Repeat("n", 35), strings.Repeat("c", 21), "functions: {train: {min: 1, max: 2}, tune: {max: 1}}"},
	{"a group that KEDA starts", strings.Repeat("n", 40), strings.Repeat("c", 8), "functions: {train: {max: 2}}, hosts: {count: 4}"},
	{"a large group that KEDA starts", strings.Repeat("n", 26), strings.Repeat("c", 21), "functions: {train: {max: 2}}, hosts: {count: 64}"},
	{"a standing group", strings.Repeat("n", 10), strings.Repeat("c", 21), "functions: {train: {max: 1}}, hosts: {count: 2, standing: true}"},
	{"large standing groups", strings.Repeat("n", 9), strings.Repeat("c", 20), "functions: {train: {max: 11}}, hosts: {count: 64, standing: true}"},
}

// The longest names that the chart renders are installed, and the server takes what controllers
// will make of them. One character more is refused by the chart, and so would it be by Kubernetes.
func TestTheLongestNamesAreInstalled(t *testing.T) {
	t.Parallel()
	for _, test := range longest {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			namespace := api.namespace(t, nil)
			values := classFile(t, test.class, test.more)
			_, err := api.helm(t, "install", strings.Repeat("r", 53), chart, "-n", namespace, "-f", values, "--set", "fullnameOverride="+test.name)
			must(t, err)
			objects := api.have(t, strings.Repeat("r", 53), namespace)
			if api.wantMade(t, namespace, objects) < 5 {
				t.Errorf("little was made of %d objects", len(objects))
			}
			for _, object := range objects {
				if object.GetKind() == "ScaledJob" && strings.Contains(object.GetName(), "-train-") || object.GetKind() == "JobSet" {
					object.SetName("n" + object.GetName())
					wantRefused(t, namespace, object)
				}
			}
			_, _, err = api.render(t, chart, "r", namespace, "-f", values, "--set", "fullnameOverride=n"+test.name)
			if len(test.name) == 40 {
				_, _, err = api.render(t, chart, "r", namespace, "-f", classFile(t, test.class+"c", test.more), "--set", "fullnameOverride="+test.name)
			}
			if err == nil || !strings.Contains(err.Error(), ": 64 characters, and Kubernetes takes 63") {
				t.Errorf("one character more: got %v", err)
			}
		})
	}
}

// wantRefused checks that the server does not take all that controllers would make of an object, or
// that a controller would not make it.
func wantRefused(t *testing.T, namespace string, object *unstructured.Unstructured) {
	t.Helper()
	all, err := made(object)
	if err != nil {
		return
	}
	for _, one := range all {
		if _, err := api.Create(t.Context(), namespace, one, "All"); err != nil {
			return
		}
	}
	t.Errorf("%s %s, one character longer than the chart takes, is taken", object.GetKind(), object.GetName())
}

// classFile writes values with one class, without the chart's own.
func classFile(t *testing.T, class, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	text := fmt.Sprintf("classes: {cpu: null, %s: {%s, %s}}", class, limits, more)
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Without values for names, a release of the longest name that Helm takes is installed, too; and of
// names that Helm takes, those of which Kubernetes takes no service are refused with the reason.
func TestReleasesHaveNamesThatServicesMayHave(t *testing.T) {
	t.Parallel()
	namespace := api.namespace(t, nil)
	_, err := api.helm(t, "install", strings.Repeat("r", 53), chart, "-n", namespace)
	must(t, err)
	for _, release := range []string{"7up", "a.b"} {
		_, err := api.helm(t, "install", release, chart, "-n", namespace)
		if err == nil || !strings.Contains(err.Error(), "names would begin with "+release+"-stoker") {
			t.Errorf("release %s: got %v", release, err)
		}
	}
	for _, class := range []string{"gpu-", "-gpu", "a.b", strings.Repeat("c", 22)} {
		_, _, err := api.render(t, chart, "r", namespace, "-f", classFile(t, `"`+class+`"`, "functions: {train: {max: 1}}"))
		if err == nil || !strings.Contains(err.Error(), "'"+class+"' does not match pattern") {
			t.Errorf("class %s: got %v", class, err)
		}
	}
}
