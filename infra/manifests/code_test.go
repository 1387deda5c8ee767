package manifests_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/stoker-ml/stoker/infra/manifests"
)

// build compiles the real program. STOKER_BINARY names one that is built already.
func build(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("STOKER_BINARY"); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "stoker")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./functions/stoker")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// The program knows each command and flag, and takes each variable for what it is meant to be.
func TestTheProgramKnowsWhatContainersSay(t *testing.T) {
	t.Parallel()
	binary := build(t)
	tried := map[string]bool{}
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		container := pod.Spec.Containers[0]
		args := strings.Join(container.Args, " ")
		if !tried[args] {
			tried[args] = true
			if out, err := exec.Command(binary, append(container.Args, "--help")...).CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %s: %v\n%s", name, object, args, err, out)
			}
		}
		if name == "everything" {
			understood(t, binary, object, container)
		}
	})
}

// noSettings are variables that packages other than settings read.
var noSettings = []string{"STOKER_KERNELS", "STOKER_CONSOLE_TOKEN", "STOKER_IMAGE", "STOKER_JOB", "STOKER_MODULE_HIDE", "STOKER_NOTIFY_URL", "STOKER_NOTIFY_SECRET", "STOKER_NOTIFY_TOKEN"}

// understood asks `stoker config` where its settings come from, in the environment of a container.
func understood(t *testing.T, binary string, object manifests.Object, container corev1.Container) {
	t.Helper()
	cmd := exec.Command(binary, "config", "-o", "json")
	cmd.Env = []string{"HOME=" + t.TempDir()}
	for _, env := range container.Env {
		value := env.Value
		if env.ValueFrom != nil {
			value = "from-secret"
		}
		cmd.Env = append(cmd.Env, env.Name+"="+value)
	}
	out, err := cmd.Output()
	must(t, err)
	for _, env := range container.Env {
		place, _, _ := strings.Cut(env.Name, "_")
		if !slices.Contains([]string{"NATS", "AWS", "STOKER", "OPENLINEAGE"}, place) {
			continue
		}
		if slices.Contains(noSettings, env.Name) || strings.Contains(string(out), `"from": "`+env.Name) {
			continue
		}
		t.Errorf("%s: %s isn't taken for a setting:\n%s", object, env.Name, out)
	}
}

// streams is what the test reads of events/jetstream/streams.yaml.
type streams struct {
	Streams   []struct{ Name string }
	Consumers []struct{ Stream, Name string }
}

// KEDA looks at consumers that the code defines, or that the job makes for a class of its own.
func TestKEDALooksAtConsumersThatThereAre(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../events/jetstream/streams.yaml")
	must(t, err)
	var defined streams
	must(t, yaml.Unmarshal(text, &defined))
	known := map[string]bool{}
	for _, consumer := range defined.Consumers {
		known[consumer.Stream+" "+consumer.Name] = true
	}
	for name := range cases(t) {
		made := classesMade(t, name)
		for _, object := range render(t, name) {
			if object.GetKind() != "ScaledJob" {
				continue
			}
			trigger := triggerOf(t, object)
			labels := object.GetLabels()
			function, class := labels["stoker.dev/function"], labels["stoker.dev/class"]
			isKnown := known[trigger["stream"]+" "+trigger["consumer"]]
			if trigger["consumer"] != function+"-"+class || !isKnown && !slices.Contains(made, class) {
				t.Errorf("%s: %s: consumer %s of %s is nobody's", name, object, trigger["consumer"], trigger["stream"])
			}
		}
	}
}

// classesMade returns the classes that the streams job makes consumers for.
func classesMade(t *testing.T, name string) (classes []string) {
	t.Helper()
	for _, object := range render(t, name) {
		if object.GetKind() != "Job" {
			continue
		}
		pod, _, err := manifests.Pod(object)
		must(t, err)
		args := pod.Spec.Containers[0].Args
		return strings.Split(args[slices.Index(args, "--classes")+1], ",")
	}
	t.Fatalf("%s: no job makes streams", name)
	return nil
}

func triggerOf(t *testing.T, object manifests.Object) map[string]string {
	t.Helper()
	triggers, _, err := unstructured.NestedSlice(object.Object, "spec", "triggers")
	must(t, err)
	if len(triggers) != 1 {
		t.Fatalf("%s: %d triggers", object, len(triggers))
	}
	metadata, _, err := unstructured.NestedStringMap(triggers[0].(map[string]any), "metadata")
	must(t, err)
	return metadata
}

// A worker is given more time to leave than it may take, and waits longer for a job than a lease
// lasts.
func TestWorkersHaveTimeToLeave(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second // of events/jetstream
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		if object.GetKind() != "ScaledJob" {
			return
		}
		args := pod.Spec.Containers[0].Args
		grace, wait := duration(t, args, "--grace"), duration(t, args, "--wait")
		if given := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second; given <= grace {
			t.Errorf("%s: %s: %s to leave within %s", name, object, given, grace)
		}
		if wait <= lease {
			t.Errorf("%s: %s: waits %s for a job, and a lease lasts %s", name, object, wait, lease)
		}
	})
}

func duration(t *testing.T, args []string, flag string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(args[slices.Index(args, flag)+1])
	must(t, err)
	return d
}

func TestGPUsAreAskedForAndTolerated(t *testing.T) {
	t.Parallel()
	want := map[string]string{"stoker-train-gpu": "1", "stoker-train-a100": "2", "stoker-train-cpu": "0"}
	for _, object := range render(t, "gpu") {
		gpus, ok := want[object.GetName()]
		if !ok {
			continue
		}
		delete(want, object.GetName())
		pod, _, err := manifests.Pod(object)
		must(t, err)
		limit := pod.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]
		tolerated := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == "nvidia.com/gpu" })
		if limit.String() != gpus || tolerated != (gpus != "0") {
			t.Errorf("%s: %s GPUs, want %s; tolerated: %t", object, limit.String(), gpus, tolerated)
		}
	}
	if len(want) > 0 {
		t.Errorf("not rendered: %v", want)
	}
}

// secrets are variables whose values must not be in a manifest.
var secrets = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "NATS_CREDS_TEXT", "NATS_KEY_TEXT", "NATS_SEED", "OPENLINEAGE_API_KEY", "STOKER_CONSOLE_TOKEN",
	"STOKER_NOTIFY_SECRET", "STOKER_NOTIFY_TOKEN", "STOKER_NOTIFY_URL",
}

// Passwords and keys come from secrets; no rendered object contains one.
func TestNoManifestContainsASecret(t *testing.T) {
	t.Parallel()
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		for _, env := range pod.Spec.Containers[0].Env {
			if slices.Contains(secrets, env.Name) && (env.Value != "" || env.ValueFrom == nil || env.ValueFrom.SecretKeyRef == nil) {
				t.Errorf("%s: %s: %s is no reference to a secret", name, object, env.Name)
			}
		}
	})
	for name := range cases(t) {
		for _, object := range render(t, name) {
			if object.GetKind() == "Secret" {
				t.Errorf("%s: %s", name, object)
			}
		}
	}
}

// The values for NATS's own chart are plain YAML; their settings of the servers are those that the
// code relies on.
func TestValuesForNATSKeepWhatIsAcknowledged(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../helm/nats-values.yaml")
	must(t, err)
	values := map[string]any{}
	must(t, yaml.UnmarshalStrict(text, &values))
	for want, path := range map[string]string{
		"3": "config.cluster.replicas", `"always"`: "config.jetstream.merge.sync_interval", "true": "config.cluster.enabled",
		"8222": "config.monitor.port", `"accounts.conf"`: "config.merge.00$include",
	} {
		got, _, err := unstructured.NestedFieldNoCopy(values, strings.Split(path, ".")...)
		must(t, err)
		said, err := json.Marshal(got)
		must(t, err)
		if string(said) != want {
			t.Errorf("%s is %s, want %s", path, said, want)
		}
	}
}

// Probes and scrapers ask a port that the pod names, and the program serves by STOKER_LISTEN.
func TestWhatStaysRunningIsProbedWhereItAnswers(t *testing.T) {
	t.Parallel()
	probed := map[string]bool{}
	pods(t, func(name string, object manifests.Object, pod corev1.PodTemplateSpec) {
		if object.GetKind() != "Deployment" {
			return
		}
		container := pod.Spec.Containers[0]
		ports, listens := map[string]string{}, ""
		for _, port := range container.Ports {
			ports[port.Name] = fmt.Sprintf(":%d", port.ContainerPort)
		}
		for _, env := range container.Env {
			if env.Name == "STOKER_LISTEN" {
				listens = env.Value
			}
		}
		for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || listens == "" || ports[probe.HTTPGet.Port.String()] != listens {
				t.Errorf("%s: %s: %s is asked by %+v; ports %v, served at %q", name, object, path, probe, ports, listens)
			}
		}
		probed[container.Name] = true
	})
	for _, name := range []string{"bridge", "console", "dispatcher", "exporter", "notifier", "upstream", "worker"} {
		if !probed[name] {
			t.Errorf("probed: %v, want %s", probed, name)
		}
	}
}
