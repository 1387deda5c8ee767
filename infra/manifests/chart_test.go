package manifests_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

const chart = "../helm/stoker"

// cases returns the values files: what people set.
func cases(t *testing.T) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{"no values": {}}
	files, err := filepath.Glob("testdata/*.yaml")
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		values := map[string]any{}
		must(t, yaml.UnmarshalStrict(text, &values))
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = values
	}
	return all
}

// render renders the chart with the values of a case.
func render(t *testing.T, name string) []manifests.Object {
	t.Helper()
	objects, err := manifests.Render(chart, cases(t)[name])
	must(t, err)
	return objects
}

func TestHelmHasNothingToSayOfTheChart(t *testing.T) {
	t.Parallel()
	for name, values := range cases(t) {
		linted := lint.RunAll(chart, values, "stoker")
		for _, message := range linted.Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, message)
			}
		}
	}
}

func TestEveryManifestIsWhatItsSchemaSays(t *testing.T) {
	t.Parallel()
	schemas, err := manifests.LoadSchemas()
	must(t, err)
	kinds := map[string]bool{}
	for name := range cases(t) {
		seen := map[string]bool{}
		for _, object := range render(t, name) {
			kinds[object.GetKind()] = true
			if err := schemas.Check(object); err != nil {
				t.Errorf("%s: %s: %v", name, object, err)
			}
			id := object.GetKind() + "/" + object.GetName()
			if seen[id] {
				t.Errorf("%s: %s is there twice", name, id)
			}
			seen[id] = true
		}
	}
	for _, kind := range []string{
		"Deployment", "Job", "JobSet", "NetworkPolicy", "PodDisruptionBudget", "ScaledJob", "Service", "ServiceAccount", "ServiceMonitor",
	} {
		if !kinds[kind] {
			t.Errorf("no case has a %s", kind)
		}
	}
}

// The check finds errors: each of these is one.
func TestASchemaRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	schemas, err := manifests.LoadSchemas()
	must(t, err)
	for was, is := range map[string]string{
		"pollingInterval: 15": "pollInterval: 15", // KEDA's, unknown
		// A field of KEDA's, with another type.
		"scalingStrategy: {strategy: default}": "scalingStrategy: default",
		"terminationGracePeriodSeconds: 40":    "terminationGrace: 40", // Kubernetes', unknown
		// A number, but KEDA requires text.
		"lagThreshold: \"1\"": "lagThreshold: 1",
		"minReplicaCount: 0":  "minReplicaCount: none", // of another type
		// A field that the Prometheus operator doesn't know.
		"podTargetLabels:":  "podLabels:",
		"maxUnavailable: 1": "maxUnavailble: 1",
		"replicatedJobs:":   "replicateJobs:", // JobSet's, unknown
		// A field of JobSet's, with another type.
		"enableDNSHostnames: true": "enableDNSHostnames: yes!",
		"maxRestarts: 2147483647":  "maxRestarts: always",
		// An unknown field of a Job in a ScaledJob.
		"completionMode: Indexed": "completionsMode: Indexed",
	} {
		if broken := brokenAnywhere(t, schemas, was, is); !broken {
			t.Errorf("%q in place of %q is taken", is, was)
		}
	}
}

func brokenAnywhere(t *testing.T, schemas manifests.Schemas, was, is string) bool {
	t.Helper()
	found := false
	for _, object := range append(render(t, "everything"), render(t, "hosts")...) {
		text := strings.ReplaceAll(string(object.Text), was, is)
		if text == string(object.Text) {
			text = strings.ReplaceAll(string(object.Text), strings.Replace(was, "15", "5", 1), is)
		}
		if text == string(object.Text) {
			continue
		}
		found = true
		object.Text, object.Object = []byte(text), nil
		must(t, yaml.Unmarshal(object.Text, &object.Object))
		if schemas.Check(object) != nil {
			return true
		}
	}
	if !found {
		t.Errorf("%q stands nowhere", was)
	}
	return false
}

// Kubernetes' own check of the Pod Security Standard "restricted".
func TestEveryPodIsRestricted(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(t, err)
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
		if !result.Allowed {
			t.Errorf("%s: %s: %s", name, object, result.ForbiddenDetail())
		}
	})
}

func TestPodsHaveNothingOfTheClusterAndWriteNowhereButInTheirVolumes(t *testing.T) {
	t.Parallel()
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
			t.Errorf("%s: %s: a token of the cluster's is mounted", name, object)
		}
		for _, container := range pod.Spec.Containers {
			if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
				t.Errorf("%s: %s: the root of %s can be written", name, object, container.Name)
			}
			if container.Resources.Limits == nil && object.GetKind() == "Deployment" {
				t.Errorf("%s: %s: %s has no limits", name, object, container.Name)
			}
			mounted(t, name, object, pod, container)
		}
	})
}

// mounted checks that volumes and mounts are each other's, and that files which the environment
// names are mounted.
func mounted(t *testing.T, name string, object manifests.Object, pod corev1.PodTemplateSpec, container corev1.Container) {
	t.Helper()
	var volumes, mounts []string
	for _, volume := range pod.Spec.Volumes {
		volumes = append(volumes, volume.Name)
	}
	at := map[string]bool{}
	for _, mount := range container.VolumeMounts {
		mounts = append(mounts, mount.Name)
		at[mount.MountPath] = true
	}
	slices.Sort(volumes)
	slices.Sort(mounts)
	if !slices.Equal(volumes, mounts) {
		t.Errorf("%s: %s: volumes %v, mounts %v", name, object, volumes, mounts)
	}
	for _, env := range container.Env {
		// The directory of all mounted files is hidden from modules, also if there are none.
		if env.Name != "STOKER_MODULE_HIDE" && strings.HasPrefix(env.Value, "/etc/") && !at[filepath.Dir(env.Value)] {
			t.Errorf("%s: %s: %s=%s: no volume is there", name, object, env.Name, env.Value)
		}
	}
}

// A network policy selects by labels that pods have; so do services, budgets and monitors.
func TestSelectorsFindPods(t *testing.T) {
	t.Parallel()
	labels := map[string]map[string]string{}
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		if name == "everything" {
			labels[object.GetName()] = pod.Labels
		}
	})
	for object, selector := range map[string]map[string]string{
		"stoker-dispatcher": {"app.kubernetes.io/component": "dispatcher", "app.kubernetes.io/instance": "stoker", "app.kubernetes.io/name": "stoker"},
		"stoker-console":    {"app.kubernetes.io/component": "console", "app.kubernetes.io/instance": "stoker", "app.kubernetes.io/name": "stoker"},
		"stoker-train-cpu":  {"app.kubernetes.io/component": "worker", "app.kubernetes.io/instance": "stoker", "app.kubernetes.io/name": "stoker"},
	} {
		for key, want := range selector {
			if got := labels[object][key]; got != want {
				t.Errorf("%s: label %s is %q, want %q", object, key, got, want)
			}
		}
	}
}

// The schema of the values names what is wrong.
func TestValuesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"replica":                 `dispatcher: {replica: 3}`,
		"/bus/url":                `bus: {url: "nats://user:secret@nats:4222"}`,
		"replicas":                `bus: {replicas: 2}`,
		"functions":               `classes: {cpu: {functions: {serve: {max: 1}}}}`,
		"big.one":                 `classes: {big.one: {functions: {train: {max: 1}}, graceSeconds: 5, resources: {}, scratch: 1Gi}}`,
		"/store":                  `store: {root: models/acme}`,
		"names no secret: set it": `networkPolicy: {consoleFrom: [{podSelector: {}}]}`,
		"let nothing reach it":    `env: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: "http://otel:4318"}]`,
		"waitSecond":              `scaling: {waitSeconds: 5}`, // shorter than a lease
		"/classes/cpu/hosts":      `classes: {cpu: {functions: {train: {max: 1}}, hosts: {standing: true}}}`,
		"several hosts train":     `classes: {cpu: {hosts: {count: 2}}}`,
		"minimum: got 1, want 2":  `classes: {cpu: {hosts: {count: 1}}}`,
	} {
		values := map[string]any{}
		must(t, yaml.Unmarshal([]byte(text), &values))
		if _, err := manifests.Render(chart, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

// Modules run as the worker's user. Where the kernel has Landlock they can't read what
// STOKER_MODULE_HIDE names.
func TestWhatIsMountedIntoAWorkerIsHiddenFromItsModules(t *testing.T) {
	t.Parallel()
	workers := 0
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		for _, c := range pod.Spec.Containers {
			if c.Name != "worker" {
				continue
			}
			workers++
			hidden := ""
			for _, e := range c.Env {
				if e.Name == "STOKER_MODULE_HIDE" {
					hidden = e.Value
				}
			}
			for _, volume := range pod.Spec.Volumes {
				for _, m := range c.VolumeMounts {
					if m.Name == volume.Name && volume.Secret != nil && !strings.HasPrefix(m.MountPath, hidden+"/") {
						t.Errorf("%s: %s: secret %s at %s, hidden is %q", name, object, volume.Secret.SecretName, m.MountPath, hidden)
					}
				}
			}
			if hidden == "" {
				t.Errorf("%s: %s: nothing is hidden", name, object)
			}
		}
	})
	if workers == 0 {
		t.Error("no worker was looked at")
	}
}

// pods visits every pod template of every case.
func pods(t *testing.T, visit func(name string, object manifests.Object, pod corev1.PodTemplateSpec)) {
	t.Helper()
	for name := range cases(t) {
		for _, object := range render(t, name) {
			pod, ok, err := manifests.Pod(object)
			must(t, err)
			if ok {
				visit(name, object, pod)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The values that the page shows are values of the chart.
func TestTheValuesOnThePageCanBeRendered(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/production.md")
	must(t, err)
	shown := 0
	for i, block := range strings.Split(string(page), "```") {
		text := dedent(block)
		if i%2 == 0 || !strings.HasPrefix(text, "bus:") && !strings.HasPrefix(text, "classes:") && !strings.HasPrefix(text, "notify:") && !strings.HasPrefix(text, "bridge:") {
			continue
		}
		shown++
		values := map[string]any{}
		must(t, yaml.UnmarshalStrict([]byte(text), &values))
		if _, err := manifests.Render(chart, values); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	if shown != 5 {
		t.Errorf("the page shows %d values files, want 5", shown)
	}
}

// dedent takes the indent of a list's item from each line.
func dedent(block string) string {
	block = strings.Trim(block, "\n")
	indent := block[:len(block)-len(strings.TrimLeft(block, " "))]
	return strings.TrimSpace(strings.ReplaceAll("\n"+block, "\n"+indent, "\n"))
}
