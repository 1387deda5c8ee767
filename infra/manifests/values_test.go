package manifests_test

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// Each key of values.yaml does something: of the values that the schema takes for it, two make
// different manifests.
func TestEveryValueDoesSomething(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(chart + "/values.yaml")
	must(t, err)
	standard := map[string]any{}
	must(t, yaml.UnmarshalStrict(text, &standard))
	all := leaves(nil, standard)
	if len(all) < 60 {
		t.Errorf("values.yaml has %d keys", len(all))
	}
	for _, leaf := range all {
		if made := makes(t, leaf); len(made) < 2 {
			t.Errorf("%v: whatever it says, the manifests are the same", leaf.path)
		}
	}
}

// leaf is a value that has none below it.
type leaf struct {
	path  []string
	value any
}

func leaves(at []string, value any) (all []leaf) {
	below, ok := value.(map[string]any)
	if !ok || len(below) == 0 {
		return []leaf{{slices.Clone(at), value}}
	}
	for key, value := range below {
		all = append(all, leaves(append(slices.Clone(at), key), value)...)
	}
	return all
}

// others are values of each type. The schema takes some of them for each key.
var others = []any{
	true, false, 1.0, 3.0, 37.0, 38.0, 2000.0, 3000.0, "x", "y", "nats://x:1", "nats://y:1", "x:1", "y:1", "s3://other", "s3://another", "http://x:1", "http://y:1", "7Gi",
	"2s", "5m", "warn", "info", "json", "text", "seed", "creds", "Never", "Always", "cuda", "python", "cloudevents", []any{}, []any{37}, []any{38},
	[]any{"s3://other"}, []any{"s3://other=x"}, []any{"x"}, []any{"model.trained"}, []any{map[string]any{"name": "x"}}, []any{map[string]any{"podSelector": map[string]any{}}},
	map[string]any{}, map[string]any{"x": "7"}, map[string]any{"python": "sha256:" + strings.Repeat("0", 64)},
}

// makes returns the different manifests that other values in the place of one make, in addition to
// those of everything. The pods have accounts of their own here, so that values about accounts have
// an effect.
func makes(t *testing.T, of leaf) (made [][]byte) {
	t.Helper()
	for _, other := range others {
		if reflect.TypeOf(other) != reflect.TypeOf(of.value) {
			continue
		}
		values := cases(t)["everything"]
		values["serviceAccounts"] = map[string]any{"create": true}
		set(values, of.path, other)
		objects, err := manifests.Render(chart, values)
		if err != nil {
			continue
		}
		var all []byte
		for _, object := range objects {
			all = append(all, object.Text...)
		}
		if !slices.ContainsFunc(made, func(known []byte) bool { return bytes.Equal(known, all) }) {
			made = append(made, all)
		}
		if len(made) > 1 {
			break
		}
	}
	return made
}

func set(values map[string]any, path []string, to any) {
	for _, key := range path[:len(path)-1] {
		below, ok := values[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			values[key] = below
		}
		values = below
	}
	values[path[len(path)-1]] = to
}

// Modules run as the user of their worker and read every file that it reads, where the kernel has
// no Landlock. So no pod has a seed or a private key of the bus as a file: they are in the
// environment, which a worker hides.
func TestNoPodMountsACredentialOfTheBus(t *testing.T) {
	t.Parallel()
	seeds, keys := 0, 0
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		for _, volume := range pod.Spec.Volumes {
			if volume.Secret == nil || !strings.HasPrefix(volume.Name, "bus") {
				continue
			}
			for _, item := range volume.Secret.Items {
				if !slices.Contains([]string{"ca.crt", "tls.crt"}, item.Path) {
					t.Errorf("%s: %s: the secret %s is mounted with %s", name, object, volume.Secret.SecretName, item.Key)
				}
			}
			if len(volume.Secret.Items) == 0 {
				t.Errorf("%s: %s: all of the secret %s is mounted", name, object, volume.Secret.SecretName)
			}
		}
		for _, env := range pod.Spec.Containers[0].Env {
			switch env.Name {
			case "NATS_SEED", "NATS_CREDS_TEXT":
				seeds++
			case "NATS_KEY_TEXT":
				keys++
			case "NATS_NKEY", "NATS_CREDS", "NATS_KEY":
				t.Errorf("%s: %s: %s names a file", name, object, env.Name)
			}
		}
	})
	if seeds == 0 || keys == 0 {
		t.Errorf("%d seeds and %d keys were rendered", seeds, keys)
	}
}
