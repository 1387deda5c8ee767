//go:build distribute

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// mirrors is a TFX module that trains on batches of 32, however many hosts share them. It fits
// epoch by epoch, so that a checkpoint is kept of each, and waits in each epoch while there is a
// certain file.
const mirrors = `
import os
import time

import tensorflow as tf

def normal(seed):
    return tf.keras.initializers.RandomNormal(stddev=1.0, seed=seed)

def hold(epoch, logs):
    print("at epoch", epoch, flush=True)
    while epoch == 2 and os.path.exists("HOLD"):
        open("HOLD.reached", "w").close()
        time.sleep(0.05)

def run_fn(fn_args):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print("replicas:", strategy.num_replicas_in_sync)
    x = tf.reshape(tf.range(640, dtype=tf.float32) / 640, [-1, 1])
    data = tf.data.Dataset.from_tensor_slices((x, tf.sin(6 * x))).batch(32).repeat()
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(8, activation="tanh", kernel_initializer=normal(3), input_shape=(1,)),
            tf.keras.layers.Dense(1, kernel_initializer=normal(4))])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    callbacks = [tf.keras.callbacks.BackupAndRestore(os.path.join(fn_args.working_dir, "backup")),
                 tf.keras.callbacks.LambdaCallback(on_epoch_begin=hold)]
    model.fit(data, steps_per_epoch=20, epochs=5, verbose=0, callbacks=callbacks)
    model.evaluate(data, steps=20, verbose=0)
    model.save(fn_args.serving_model_dir)
`

// float32 sums are in another order: a batch's gradient is the mean of two halves. Over 100 steps
// the difference stays far below this.
const lossTolerance = 1e-5

// Two processes with an address each train the same model as one process. Then the member is killed
// in the middle of a training, and the leader in another one: each training resumes from its
// checkpoint with the same result.
func TestWorkersOnTwoHosts(t *testing.T) {
	t.Parallel()
	s := newIdleStack(t)
	one := s.train("one", 1, nil)
	s.checkSame("two hosts", one, s.train("two", 2, nil))
	s.checkSame("a member killed", one, s.train("member", 2, func(hosts []*started) { hosts[1].kill() }))
	s.checkSame("the leader killed", one, s.train("leader", 2, func(hosts []*started) { hosts[0].kill() }))
}

// idleStack is a local stack without workers, in a folder.
type idleStack struct {
	t      *testing.T
	dir    string
	hold   string
	env    []string
	starts int
}

func newIdleStack(t *testing.T) *idleStack {
	t.Helper()
	dir := t.TempDir()
	s := &idleStack{t: t, dir: dir, hold: filepath.Join(dir, "hold", "here")}
	s.env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"),
		"STOKER_PYTHON="+tftest.Python(t), "STOKER_MODULE_WRITE="+filepath.Dir(s.hold), "CUDA_VISIBLE_DEVICES=")
	s.must(os.Mkdir(filepath.Dir(s.hold), 0o700))
	up := s.start("up", "--slots", "0")
	t.Cleanup(func() { _ = up.cmd.Process.Signal(os.Interrupt); <-up.gone })
	s.until("the stack is up", func() bool {
		_, err := os.Stat(filepath.Join(dir, "data", "stoker", "connection.json"))
		return err == nil
	})
	data, err := filepath.Abs("../../local/demo/data")
	s.must(err)
	s.stoker("upload", data, "s3://stoker/penguin-data")
	s.write("mirrors.py", strings.ReplaceAll(mirrors, "HOLD", s.hold))
	s.write("transform.json", `{"transform_graph": "s3://stoker/penguin-data/transform_graph",
		"transformed_examples": [{"uri": "s3://stoker/penguin-data/transformed_examples"}]}`)
	return s
}

// train trains a separate pipeline on this many hosts, and returns the loss. disturb is called in
// the third epoch; processes that it killed are restarted, as by Kubernetes.
func (s *idleStack) train(name string, workers int, disturb func([]*started)) float64 {
	s.t.Helper()
	s.write(name+".yaml", fmt.Sprintf(`
pipeline: %s
module: {path: ./mirrors.py, keras: "2"}
trainer:
  wait_for: [transform]
  train_args: {num_steps: 100}
  custom_config: {name: %[1]s}
  resources: {workers: %d}
`, name, workers))
	s.stoker("apply", name+".yaml")
	s.stoker("publish", "transform.json", "--kind", "transform.ready", "--pipeline", name, "--run", "r")
	if disturb != nil {
		s.must(os.WriteFile(s.hold, nil, 0o600))
	}
	hosts := s.group(workers)
	if disturb != nil {
		s.until("the third epoch", func() bool { _, err := os.Stat(s.hold + ".reached"); return err == nil || hosts[0].ended() })
		s.until("a checkpoint", func() bool { return strings.Contains(s.said(hosts[0]), "checkpoint saved") || hosts[0].ended() })
		disturb(hosts)
		s.must(errors.Join(os.Remove(s.hold), os.Remove(s.hold+".reached")))
		for _, h := range hosts { // of a Job: if one fails, the others are stopped
			<-h.gone
		}
		hosts = s.group(workers)
	}
	for i, h := range hosts {
		<-h.gone
		if h.err != nil {
			s.t.Errorf("%s: host %d left with %v", name, i, h.err)
		}
	}
	return s.loss(name, hosts, workers, disturb != nil)
}

// group starts all hosts as the pods of a Job, for one job.
func (s *idleStack) group(workers int) (hosts []*started) {
	if workers == 1 {
		return []*started{s.start("worker", "--once", "--functions", "train", "--wait", "60s", "-v")}
	}
	s.starts++
	var names []string
	// Separate ports: TensorFlow listens on every address of the machine.
	for rank := range workers {
		names = append(names, fmt.Sprintf("127.0.0.%d:%d", rank+1, 18470+100*s.starts+10*rank))
	}
	for rank := range workers {
		hosts = append(hosts, s.start("worker", "--once", "--wait", "60s", "-v", "--grace", "10s",
			"--hosts", strings.Join(names, ","), "--rank", fmt.Sprint(rank)))
	}
	return hosts
}

// loss returns the loss of the only model.
func (s *idleStack) loss(name string, hosts []*started, workers int, resumed bool) float64 {
	s.t.Helper()
	log := s.stoker("logs", "r", "--pipeline", name)
	if !strings.Contains(log, fmt.Sprintf("replicas: %d\n", workers)) || workers > 1 && !strings.Contains(log, "[worker 1] replicas: 2\n") {
		s.t.Errorf("%s: log\n%s", name, log)
	}
	if begins := strings.Contains(log, "at epoch 0\n"); begins == resumed {
		s.t.Errorf("%s: begins anew: %t\n%s", name, begins, log)
	}
	var models []struct{ Metrics map[string]float64 }
	s.must(json.Unmarshal([]byte(s.stoker("models", "--pipeline", name, "-o", "json")), &models))
	if len(models) != 1 {
		s.t.Fatalf("%s: %d models", name, len(models))
	}
	return models[0].Metrics["loss"]
}

func (s *idleStack) checkSame(name string, want, got float64) {
	s.t.Helper()
	if want == 0 || want > 0.5 || math.Abs(want-got) > lossTolerance {
		s.t.Errorf("%s: loss %v, want %v", name, got, want)
	}
	s.t.Logf("%s: loss %v, of one process %v", name, got, want)
}

// started is a running process of this binary.
type started struct {
	cmd  *exec.Cmd
	log  string
	gone chan struct{}
	err  error // valid after gone
}

func (s *idleStack) start(args ...string) *started {
	s.t.Helper()
	p := &started{cmd: s.command(args...), log: filepath.Join(s.t.TempDir(), "log"), gone: make(chan struct{})}
	out, err := os.Create(p.log)
	s.must(err)
	defer out.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	s.must(p.cmd.Start())
	go func() {
		defer close(p.gone)
		p.err = p.cmd.Wait()
	}()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.gone
		if s.t.Failed() {
			s.t.Logf("%v says:\n%s", args, s.said(p))
		}
	})
	return p
}

func (p *started) kill() { _ = p.cmd.Process.Signal(syscall.SIGKILL) }

func (p *started) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (s *idleStack) said(p *started) string {
	text, err := os.ReadFile(p.log)
	s.must(err)
	return string(text)
}

func (s *idleStack) command(args ...string) *exec.Cmd {
	cmd := exec.Command("stoker", args...) // testscript puts it on the path
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

func (s *idleStack) stoker(args ...string) string {
	s.t.Helper()
	out, err := s.command(args...).Output()
	if err != nil {
		s.t.Fatalf("stoker %v: %v", args, err)
	}
	return string(out)
}

func (s *idleStack) write(name, text string) {
	s.must(os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

func (s *idleStack) until(what string, come func() bool) {
	s.t.Helper()
	const patience = 5 * time.Minute
	for start := time.Now(); !come(); time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > patience {
			s.t.Fatalf("%s: it did not come", what)
		}
	}
}

func (s *idleStack) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
