package kubernetes_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

// valuesFiles are those of infra/manifests, and none.
func valuesFiles(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../manifests/testdata/*.yaml")
	must(t, err)
	all := map[string][]string{"no values": nil}
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = []string{"-f", file}
	}
	if len(all) < 7 {
		t.Fatalf("there are %d values files", len(all))
	}
	return all
}

// Each values file is installed; then other values, and a newer chart, replace it; it is rolled
// back, and removed. After each step the server has the objects that Helm renders, and no others.
func TestEachValuesFileIsInstalledUpgradedAndRemoved(t *testing.T) {
	t.Parallel()
	newer := newerChart(t)
	for name, values := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &release{t: t, namespace: api.namespace(t, nil), values: values}
			first := r.step(chart, "install")
			// Another value, with the same image and the same classes.
			r.step(chart, "upgrade", "--set", "log.level=warn", "--set", "dispatcher.replicas=7")
			second := r.step(chart, "upgrade", "--set", "image.tag=v2", "--set", "console.enabled=false", "--set", "networkPolicy.enabled=false")
			if cmp.Equal(first, second) {
				t.Error("the upgrade changed nothing")
			}
			r.step(newer, "upgrade", "--set", "image.tag=v2")
			r.run("rollback", "stoker", "1", "-n", r.namespace)
			if diff := cmp.Diff(first, r.specs()); diff != "" {
				t.Errorf("after the rollback (-installed +rolled back):\n%s", diff)
			}
			r.run("uninstall", "stoker", "-n", r.namespace)
			if left := slices.Sorted(maps.Keys(api.have(t, "stoker", r.namespace))); len(left) > 0 {
				t.Errorf("left after the uninstall: %v", left)
			}
		})
	}
}

// release is one of the chart, named stoker.
type release struct {
	t         *testing.T
	namespace string
	values    []string
	last      map[string]string // specs after the last step
}

// run runs Helm, which must succeed.
func (r *release) run(args ...string) string {
	r.t.Helper()
	out, err := api.helm(r.t, args...)
	must(r.t, err)
	return out
}

// step installs or upgrades, and checks that the server has what Helm renders, and takes what
// controllers will make of it. It returns the specs.
func (r *release) step(chart, verb string, more ...string) map[string]string {
	r.t.Helper()
	out := r.run(slices.Concat([]string{verb, "stoker", chart, "-n", r.namespace, "-o", "json"}, r.values, more)...)
	var said struct {
		Manifest string
		Hooks    []struct{ Manifest string }
	}
	must(r.t, json.Unmarshal([]byte(out), &said))
	rendered, err := kube.Decode([]byte(said.Manifest))
	must(r.t, err)
	var tests []*unstructured.Unstructured
	for _, hook := range said.Hooks {
		objects, err := kube.Decode([]byte(hook.Manifest))
		must(r.t, err)
		tests = append(tests, objects...)
	}
	var want []string
	for _, object := range rendered {
		want = append(want, object.GetKind()+" "+object.GetName())
	}
	slices.Sort(want)
	have := r.have()
	if got := slices.Sorted(maps.Keys(have)); !slices.Equal(got, want) || len(want) < 8 {
		r.t.Errorf("%s %v: the server has\n%q, Helm renders\n%q", verb, more, got, want)
	}
	if n := api.wantMade(r.t, r.namespace, have); n < 5 {
		r.t.Errorf("%s: %d Jobs and Pods were checked", verb, n)
	}
	api.wantTest(r.t, r.namespace, tests)
	now := r.specs()
	for name, spec := range now {
		// The server would take a change: JobSet refuses it in its webhook.
		if before, same := r.last[name]; same && strings.HasPrefix(name, "JobSet ") && before != spec {
			r.t.Errorf("%s %v: %s has changed, and a JobSet is immutable:\n%s", verb, more, name, cmp.Diff(before, spec))
		}
	}
	r.last = now
	return now
}

// have returns the objects of the release without Helm's own.
func (r *release) have() map[string]*unstructured.Unstructured {
	all := api.have(r.t, "stoker", r.namespace)
	maps.DeleteFunc(all, func(name string, _ *unstructured.Unstructured) bool {
		return strings.Contains(name, " sh.helm.release.v1.")
	})
	return all
}

func (r *release) specs() map[string]string {
	all, err := specs(r.have())
	must(r.t, err)
	return all
}

// newerChart is the chart with another version, which labels of all objects contain.
func newerChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "stoker")
	must(t, os.CopyFS(dir, os.DirFS(chart)))
	file := filepath.Join(dir, "Chart.yaml")
	text, err := os.ReadFile(file)
	must(t, err)
	newer := strings.NewReplacer("version: 0.1.0", "version: 0.2.0", `appVersion: "0.1.0"`, `appVersion: "0.2.0"`).Replace(string(text))
	if strings.Count(newer, "0.2.0") != 2 {
		t.Fatalf("%s has no version 0.1.0", file)
	}
	must(t, os.WriteFile(file, []byte(newer), 0o600))
	return dir
}

// Values that the chart's schema takes, because it doesn't know the types of Kubernetes, are
// refused by the server.
func TestTheServerRefusesWhatTheSchemaOfTheValuesTakes(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]string{
		"quantities must match the regular expression": "dispatcher.resources.requests.cpu=1x",
		"jobTargetRef.template.spec.containers":        "classes.cpu.resources.limits.memory=8GiB",
		"a valid label":                                "dispatcher.nodeSelector.pool=a b",
		"spec.template.spec.tolerations[0].operator":   "console.tolerations[0].operator=Exist",
		"a valid label must":                           "monitoring.enabled=true,monitoring.labels.team=a b",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			namespace := api.namespace(t, nil)
			if _, err := api.helm(t, "install", "stoker", chart, "-n", namespace, "--set", value); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		})
	}
}
