package manifests_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// A class with one pod a job, a group that KEDA starts, and a standing group. The chart's own class
// is left out.
const (
	onePod   = `{%[1]s: {functions: {train: {max: 4}}, graceSeconds: 25, resources: {}, scratch: 1Gi}, cpu: null}`
	group    = `{%[1]s: {functions: {train: {max: 4}}, graceSeconds: 25, resources: {}, scratch: 1Gi, hosts: {count: %[2]d}}, cpu: null}`
	standing = `{%[1]s: {functions: {train: {max: %[3]d}}, graceSeconds: 25, resources: {}, scratch: 1Gi, hosts: {count: %[2]d, standing: true}}, cpu: null}`
)

// The longest names that Kubernetes, KEDA and JobSet take are rendered; one more character is
// refused, with the reason. task test:kubernetes has an API server say the same.
func TestNamesAreRefusedAboveTheirLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		classes     string
		hosts, max  int
		class, name int // longest class, with a name of so many characters
		reason      string
	}{
		{onePod, 1, 1, 16, 40, "the label scaledjob.keda.sh/name"},
		{onePod, 1, 1, 21, 35, "the label scaledjob.keda.sh/name"},
		{group, 4, 4, 8, 40, "the hostname of a pod of the Indexed Job"},
		{group, 10, 4, 21, 27, "the hostname of a pod of the Indexed Job"},
		{group, 11, 4, 21, 26, "the hostname of a pod of the Indexed Job"},
		{standing, 2, 1, 21, 10, "the name of a pod of the JobSet"},
		{standing, 64, 1, 21, 9, "the name of a pod of the JobSet"},
		{standing, 64, 11, 20, 9, "the name of a pod of the JobSet"},
	} {
		class, name := strings.Repeat("c", test.class), strings.Repeat("n", test.name)
		if err := rendered(t, test.classes, class, name, test.hosts, test.max); err != nil {
			t.Errorf("a class of %d characters, with a name of %d: %v", test.class, test.name, err)
		}
		longer, want := class+"c", fmt.Sprintf("classes.%sc.functions.train: %s would be ", class, test.reason)
		if test.class == 21 { // a class has no more
			longer, name, want = class, name+"n", strings.Replace(want, class+"c", class, 1)
		}
		err := rendered(t, test.classes, longer, name, test.hosts, test.max)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "64 characters, and Kubernetes takes 63: ") {
			t.Errorf("%s with %s: got %v, want %q", longer, name, err, want)
		}
	}
}

// rendered renders the chart with one class and a name for all that it has.
func rendered(t *testing.T, classes, class, name string, hosts, most int) error {
	t.Helper()
	all := map[string]any{}
	must(t, yaml.Unmarshal(fmt.Appendf(nil, classes, class, hosts, most), &all))
	_, err := manifests.Render(chart, map[string]any{"fullnameOverride": name, "classes": all})
	return err
}

// A class is the value of a label and the end of a name.
func TestClassesThatKubernetesRefusesAreRefused(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"gpu-", "-gpu", "GPU", "a.b", "a_b", strings.Repeat("c", 22)} {
		err := rendered(t, onePod, fmt.Sprintf("%q", class), "n", 1, 1)
		if err == nil || !strings.Contains(err.Error(), "'"+class+"' does not match pattern") {
			t.Errorf("class %s: got %v", class, err)
		}
	}
}

// A release has a name that Helm takes. The names of services are stricter.
func TestNamesBeginWithTheRelease(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ release, values, want string }{
		{"stoker", `{}`, "stoker"},
		{"prod", `{}`, "prod-stoker"},
		{"my-stoker", `{}`, "my-stoker"},
		{"prod", `{nameOverride: trainer}`, "prod-trainer"},
		{"the-trainer", `{nameOverride: trainer}`, "the-trainer"},
		{"prod", `{fullnameOverride: acme}`, "acme"},
		{strings.Repeat("r", 53), `{}`, strings.Repeat("r", 40)},
		{strings.Repeat("r", 39) + "-x", `{fullnameOverride: ""}`, strings.Repeat("r", 39)},
		{"7up", `{fullnameOverride: up}`, "up"},
	} {
		values := map[string]any{}
		must(t, yaml.Unmarshal([]byte(test.values), &values))
		objects, err := manifests.RenderRelease(chart, test.release, values)
		must(t, err)
		for _, object := range objects {
			if name := object.GetName(); name != test.want && !strings.HasPrefix(name, test.want+"-") {
				t.Errorf("release %s with %s: %s, want %s-...", test.release, test.values, object, test.want)
			}
		}
	}
	for _, release := range []string{"7up", "a.b"} {
		_, err := manifests.RenderRelease(chart, release, map[string]any{})
		if err == nil || !strings.Contains(err.Error(), "release "+release+": names would begin with "+release+"-stoker") {
			t.Errorf("release %s: got %v", release, err)
		}
	}
	for _, values := range []string{`{fullnameOverride: 7up}`, `{fullnameOverride: a-}`, `{fullnameOverride: ` + strings.Repeat("n", 41) + `}`, `{nameOverride: a.b}`} {
		all := map[string]any{}
		must(t, yaml.Unmarshal([]byte(values), &all))
		if _, err := manifests.Render(chart, all); err == nil || !strings.Contains(err.Error(), "Override") {
			t.Errorf("%s: got %v", values, err)
		}
	}
}

// Digests name the bytes of an image; the tag then says only which version they are.
func TestImagesHaveTheDigestsOfTheValues(t *testing.T) {
	t.Parallel()
	digests := map[string]any{"stoker": "sha256:" + strings.Repeat("0", 64), "python": "sha256:" + strings.Repeat("1", 64)}
	objects, err := manifests.Render(chart, map[string]any{
		"image": map[string]any{"digests": digests}, "classes": map[string]any{"cpu": map[string]any{"variant": "python"}},
	})
	must(t, err)
	images := map[string]bool{}
	for _, object := range objects {
		pod, ok, err := manifests.Pod(object)
		must(t, err)
		if ok {
			images[pod.Spec.Containers[0].Image] = true
		}
	}
	for variant, tag := range map[string]string{"stoker": "0.1.0", "python": "0.1.0-python"} {
		if image := fmt.Sprintf("ghcr.io/stoker-ml/stoker:%s@%s", tag, digests[variant]); !images[image] {
			t.Errorf("no pod has the image %s: %v", image, images)
		}
	}
	if len(images) != 2 {
		t.Errorf("images %v, want those with digests alone", images)
	}
	if _, err := manifests.Render(chart, map[string]any{"image": map[string]any{"digests": map[string]any{"python": "latest"}}}); err == nil {
		t.Error("a tag is taken for a digest")
	}
}
