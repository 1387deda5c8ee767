package nodes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lossTolerance is for sums of float32 in another order: a batch's gradient is the mean of two
// halves. Over 100 steps the difference stays far below this.
const lossTolerance = 1e-5

const mirrorsModule = "s3://stoker/" + tenant + "/inputs/mirrors.py"

// Two pods on two nodes train one model with TensorFlow, and it is the one that a single pod
// trains: as an Indexed Job that KEDA starts, and as a JobSet that stays. Then the leader and
// the other pod of each are killed amid a training, which is continued from the last checkpoint
// with the same result.
func TestPodsTrainOneModelTogether(t *testing.T) {
	began := time.Now()
	must(t, api.ImportPython(t.Context(), "../../../bin/image-python", "../../../bin/stoker", "node-2", "node-3"))
	t.Logf("two nodes imported the image with Python in %s", time.Since(began))
	for _, node := range []string{"node-2", "node-3"} {
		advertise(t, node, "pair", "standing")
	}
	_, err := api.Helm(t.Context(), "upgrade", release, "../../helm/stoker", "-n", release, "-f", "testdata/values.yaml", "-f", "testdata/groups.yaml", "--wait", "--timeout", "3m")
	must(t, err)
	t.Cleanup(func() {
		_, err := api.Helm(context.WithoutCancel(t.Context()), "upgrade", release, "../../helm/stoker", "-n", release, "-f", "testdata/values.yaml", "--wait", "--timeout", "3m")
		must(t, err)
	})
	stoker.stoker(t, "operator", "upload", "testdata/mirrors.py", mirrorsModule)
	want := stoker.mirrored(t, "single", 1, 0)
	for _, class := range []string{"pair", "standing"} {
		nodes := whereRuns(t, class, func() { stoker.mirrored(t, class, 2, want) })
		if len(nodes) != 2 {
			t.Errorf("class %s trained on %v, want two nodes", class, nodes)
		}
	}
	for _, class := range []string{"pair", "standing"} {
		for _, index := range []string{"0", "1"} {
			stoker.mirroredThoughKilled(t, class, index, want)
		}
	}
}

// advertise gives a node one of each extended resource of example.com.
func advertise(t *testing.T, node string, resources ...string) {
	t.Helper()
	amounts := map[string]string{}
	for _, name := range resources {
		amounts["example.com/"+name] = "1"
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": amounts, "allocatable": amounts}})
	must(t, err)
	_, err = api.Kube.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	must(t, err)
}

// mirrored has a class train the module, and returns the loss. It must be that loss, unless that is
// zero.
func (i *installation) mirrored(t *testing.T, class string, hosts int, want float64) float64 {
	t.Helper()
	began := time.Now()
	i.applyMirrored(t, class, "whole", hosts, 0)
	i.start(t, "mirrored-"+class, "whole")
	return i.wantLoss(t, class, "whole", began, hosts, want)
}

// mirroredThoughKilled is mirrored, with a pod killed in the third epoch.
func (i *installation) mirroredThoughKilled(t *testing.T, class, index string, want float64) {
	t.Helper()
	began, name := time.Now(), "killed-"+index
	i.applyMirrored(t, class, name, 2, 2)
	run := "mirrored-" + class + "/" + name
	i.start(t, "mirrored-"+class, name)
	eventually(t, 3*time.Minute, run+" is in its third epoch", func() bool {
		// An error while there is no log yet.
		log, err := i.output(t.Context(), "operator", "logs", run, "-q")
		return err == nil && strings.Contains(log, "epoch 2 of 2")
	})
	killPod(t, release, workersOf(class)+",batch.kubernetes.io/job-completion-index="+index)
	i.wantLoss(t, class, name, began, 2, want)
	if log := i.logs(t, run); strings.Contains(log, "epoch 0 of") {
		t.Errorf("%s: the last attempt began anew:\n%s", run, log)
	}
}

// applyMirrored applies the pipeline of the module for a class.
func (i *installation) applyMirrored(t *testing.T, class, name string, hosts, epochSeconds int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pipeline.yaml")
	must(t, os.WriteFile(file, fmt.Appendf(nil, `
pipeline: mirrored-%s
module: {path: %s, keras: "2"}
trainer:
  wait_for: [transform]
  train_args: {num_steps: 100}
  custom_config: {name: %s, epoch_seconds: %d}
  resources: {class: %[1]s, workers: %[5]d}
`, class, mirrorsModule, name, epochSeconds, hosts), 0o600))
	i.stoker(t, "operator", "apply", file)
}

// wantLoss waits for the model of a run, which has trained on all hosts.
func (i *installation) wantLoss(t *testing.T, class, run string, began time.Time, hosts int, want float64) float64 {
	t.Helper()
	pipeline := "mirrored-" + class
	eventually(t, 5*time.Minute, pipeline+"/"+run+" has a model", func() bool {
		d, text := i.show(t, pipeline+"/"+run)
		if d.State == "failed" {
			t.Fatalf("%s/%s has failed:\n%s", pipeline, run, text)
		}
		return d.State == "trained"
	})
	took := time.Since(began)
	if log := i.logs(t, pipeline+"/"+run); !strings.Contains(log, fmt.Sprintf("epoch 4 of %d replicas", hosts)) {
		t.Errorf("log of %s/%s:\n%s", pipeline, run, log)
	}
	var models []struct {
		Run     string
		Metrics map[string]float64
	}
	must(t, json.Unmarshal([]byte(i.stoker(t, "operator", "models", "--pipeline", pipeline, "-o", "json", "-q")), &models))
	for _, model := range models {
		if model.Run != run {
			continue
		}
		loss := model.Metrics["loss"]
		t.Logf("%s/%s: loss %v, %s after the pipeline was applied", pipeline, run, loss, took)
		if loss <= 0 || want != 0 && math.Abs(loss-want) > lossTolerance {
			t.Errorf("%s/%s: loss %v, want %v", pipeline, run, loss, want)
		}
		return loss
	}
	t.Fatalf("the model of %s/%s is not listed", pipeline, run)
	return 0
}

func (i *installation) logs(t *testing.T, run string) string {
	t.Helper()
	return i.stoker(t, "operator", "logs", run, "-q")
}

// whereRuns returns the nodes of the pods of a class that ran while do did.
func whereRuns(t *testing.T, class string, do func()) map[string]bool {
	t.Helper()
	nodes := map[string]bool{}
	pods := watchPods(t, release, workersOf(class))
	do()
	for _, pod := range pods.all() {
		nodes[pod.node] = true
	}
	stay, err := api.Kube.CoreV1().Pods(release).List(t.Context(), metav1.ListOptions{LabelSelector: workersOf(class), FieldSelector: "status.phase=Running"})
	must(t, err)
	for _, pod := range stay.Items {
		nodes[pod.Spec.NodeName] = true
	}
	return nodes
}
