package tfxdsl_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/pipeline/tfxdsl"
	"github.com/stoker-ml/stoker/functions/runner"
)

func record(t *testing.T, text string, timeout time.Duration) (*tfxdsl.Recorded, error) {
	t.Helper()
	python := tftest.Python3(t)
	path := filepath.Join(t.TempDir(), "my_pipeline.py")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return tfxdsl.Record(t.Context(), path, tfxdsl.Options{Python: python, Timeout: timeout, Run: func(cmd *exec.Cmd) error { return runner.RunConfined(cmd, nil) }})
}

func translate(t *testing.T, text string) (string, error) {
	t.Helper()
	r, err := record(t, text, 5*time.Minute)
	if err != nil {
		return "", err
	}
	out, err := r.Pipeline()
	return string(out), err
}

const channels = `
from tfx.components import Trainer, Tuner, Transform, CsvExampleGen, SchemaGen
from tfx.proto import trainer_pb2, tuner_pb2
example_gen = CsvExampleGen(input_base="data")
schema_gen = SchemaGen(statistics=None)
transform = Transform(examples=example_gen.outputs["examples"])
module_file = "penguin_utils.py"
`

// The forms that TFX's guides and tutorials use, in the styles of both namespaces.
func TestFormsOfTFXsGuides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"generic trainer": {channels + `
from tfx.dsl.components.base import executor_spec
from tfx.components.trainer.executor import GenericExecutor
trainer = Trainer(
    module_file=module_file,
    custom_executor_spec=executor_spec.ExecutorClassSpec(GenericExecutor),
    examples=transform.outputs["transformed_examples"],
    transform_graph=transform.outputs["transform_graph"],
    schema=schema_gen.outputs["schema"],
    train_args=trainer_pb2.TrainArgs(num_steps=10000),
    eval_args=trainer_pb2.EvalArgs(num_steps=5000))
`, `pipeline: my-pipeline
module: penguin_utils.py
trainer:
  eval_args:
    num_steps: 5000
  hyperparameters: none
  train_args:
    num_steps: 10000
  wait_for:
  - transform
`},
		"Vertex AI, its image by version": {`
import tensorflow as tf
from tfx import v1 as tfx
print('TensorFlow version: {}'.format(tf.__version__))
example_gen = tfx.components.CsvExampleGen(input_base='data')
job = {'container_spec': {'image_uri': 'gcr.io/tfx-oss-public/tfx:{}'.format(tfx.__version__)}}
trainer = tfx.extensions.google_cloud_ai_platform.Trainer(
    module_file='penguin_trainer.py',
    examples=example_gen.outputs['examples'],
    train_args=tfx.proto.TrainArgs(num_steps=100),
    eval_args=tfx.proto.EvalArgs(num_steps=5),
    custom_config={
        tfx.extensions.google_cloud_ai_platform.TRAINING_ARGS_KEY: job,
        'image': job['container_spec']['image_uri'],
        'use_gpu': True,
    })
`, `# warning: line 7: Trainer: custom_config: tfx.v1.extensions.google_cloud_ai_platform.TRAINING_ARGS_KEY is for cloud executors: trainer.resources says where a job runs
pipeline: my-pipeline
module: penguin_trainer.py
trainer:
  custom_config:
    image: gcr.io/tfx-oss-public/tfx:1.21.0
    use_gpu: true
  eval_args:
    num_steps: 5
  hyperparameters: none
  train_args:
    num_steps: 100
  wait_for:
  - examples
`},
		"resolver, old": {`
from tfx import components
from tfx.components.common_nodes.resolver_node import ResolverNode
from tfx.dsl.experimental import latest_artifacts_resolver
from tfx.types import Channel
from tfx.types.standard_artifacts import Model
from tfx.proto import trainer_pb2
transform = components.Transform(examples=None)
latest = ResolverNode(instance_name="r", resolver_class=latest_artifacts_resolver.LatestArtifactsResolver, latest_model=Channel(type=Model))
components.Trainer(module_file="m.py", transformed_examples=transform.outputs["transformed_examples"],
    base_models=latest.outputs["latest_model"], train_args=trainer_pb2.TrainArgs(num_steps=1))
`, `pipeline: my-pipeline
module: m.py
trainer:
  base_model: latest
  hyperparameters: none
  train_args:
    num_steps: 1
  wait_for:
  - transform
`},
		"tuner and resolver, v1, in a function behind absl": {`
import os
from typing import List, Optional
from absl import app
import tensorflow_model_analysis as tfma
from tfx import v1 as tfx

def create(name: str, args: Optional[List[tfx.dsl.Channel]] = None) -> tfx.dsl.Pipeline:
  gen = tfx.components.CsvExampleGen(input_base="x")
  transform = tfx.components.Transform(examples=gen.outputs["examples"])
  tuner = tfx.components.Tuner(
      examples=transform.outputs["transformed_examples"], module_file=os.path.join("src", "m.py"), tuner_fn="src.m.tuner_fn",
      train_args=tfx.proto.TrainArgs(num_steps=20), eval_args=tfx.proto.EvalArgs(num_steps=5),
      tune_args=tfx.proto.TuneArgs(num_parallel_trials=3))
  blessed = tfx.dsl.Resolver(strategy_class=tfx.dsl.experimental.LatestBlessedModelStrategy,
      model=tfx.dsl.Channel(type=tfx.types.standard_artifacts.Model)).with_id("blessed")
  trainer = tfx.components.Trainer(
      examples=transform.outputs["transformed_examples"], module_file=os.path.join("src", "m.py"), base_model=blessed.outputs["model"],
      hyperparameters=tuner.outputs["best_hyperparameters"], train_args=tfx.proto.TrainArgs(splits=["train"], num_steps=100),
      eval_args=tfx.proto.EvalArgs(splits=["eval"]), custom_config={"label": "species", "rates": [0.5, 1]})
  tfma.EvalConfig(model_specs=[tfma.ModelSpec(label_key="species")])
  return tfx.dsl.Pipeline(pipeline_name=name, components=[trainer])

def main(_):
  tfx.orchestration.LocalDagRunner().run(create("Penguin_Local"))

if __name__ == "__main__":
  app.run(main)
`, `pipeline: penguin-local
module:
  path: src/m.py
  tuner_fn: m.tuner_fn
trainer:
  base_model: blessed
  custom_config:
    label: species
    rates:
    - 0.5
    - 1
  eval_args:
    splits:
    - eval
  hyperparameters: run
  train_args:
    num_steps: 100
    splits:
    - train
  wait_for:
  - transform
  - hparams
tuner:
  eval_args:
    num_steps: 5
  train_args:
    num_steps: 20
  tune_args:
    num_parallel_trials: 3
  when: always
`},
		"imported hyperparameters, raw examples": {`
from tfx import v1 as tfx
gen = tfx.components.CsvExampleGen(input_base="x")
hparams = tfx.dsl.Importer(source_uri="path/to/best_hyperparameters.txt", artifact_type=tfx.types.standard_artifacts.HyperParameters)
tfx.components.Trainer(examples=gen.outputs["examples"], module_file="m.py", hyperparameters=hparams.outputs["result"],
                       train_args={"num_steps": 3})
`, `# warning: line 5: Trainer: hyperparameters: publish hparams.ready with path/to/best_hyperparameters.txt once; each run takes the newest
pipeline: my-pipeline
module: m.py
trainer:
  hyperparameters: latest
  train_args:
    num_steps: 3
  wait_for:
  - examples
`},
		"an extension's tuner": {channels + `
from tfx.extensions.google_cloud_ai_platform.tuner.component import Tuner
from tfx.extensions.google_cloud_ai_platform.trainer import executor as ai_platform_trainer_executor
tuner = Tuner(examples=transform.outputs["transformed_examples"], module_file=module_file, custom_config={
    ai_platform_trainer_executor.TRAINING_ARGS_KEY: {"project": "p"}, "deep": 1}, train_args=trainer_pb2.TrainArgs(num_steps=2))
Trainer(examples=transform.outputs["transformed_examples"], module_file=module_file, hyperparameters=tuner.outputs["best_hyperparameters"],
        train_args=trainer_pb2.TrainArgs(num_steps=1), surprise=1)
`, `# warning: line 13: Trainer: surprise has no equivalent
# warning: line 11: Tuner: custom_config: tfx.extensions.google_cloud_ai_platform.trainer.executor.TRAINING_ARGS_KEY is for cloud executors: trainer.resources says where a job runs
pipeline: my-pipeline
module: penguin_utils.py
trainer:
  hyperparameters: run
  train_args:
    num_steps: 1
  wait_for:
  - transform
  - hparams
tuner:
  custom_config:
    deep: 1
  train_args:
    num_steps: 2
  when: always
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := translate(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if _, err := pipeline.Parse("p.yaml", []byte(got)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSaysAtWhichLineAFileIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"x = 1\ny = (\n", "my_pipeline.py:2: SyntaxError: "},
		{"x = 1\nraise ValueError('no data')\n", "my_pipeline.py:2: ValueError: no data"},
		{"import sys\nsys.exit(4)\n", "my_pipeline.py: it exits with 4"},
		{"x = 1\n", "no Trainer(...) and no Tuner(...) of tfx was called"},
		{channels + "Trainer(examples=None)\n", "my_pipeline.py:8: Trainer: no module_file"},
		{channels + "Trainer(None, 1)\n", "my_pipeline.py:8: Trainer: 2 arguments without a name"},
		{channels + "Trainer(module_file=module_file)\n\nTrainer(module_file=module_file)\n", "my_pipeline.py:10: a second Trainer(...); the first is at line 8"},
		{channels + "Trainer(module_file=module_file, base_model=transform.outputs['x'])\n", "my_pipeline.py:8: Trainer: base_model comes from x: expected a Resolver"},
		{channels + "Trainer(module_file=trainer_pb2.path)\n", "my_pipeline.py:8: Trainer: module_file is tfx.proto.trainer_pb2.path, which is not known before the pipeline runs"},
		{channels + "Trainer(module_file=module_file, train_args=3)\n", "my_pipeline.py:8: Trainer: train_args is 3: expected TFX's message"},
		{channels + "t = Tuner(module_file='other.py')\nTrainer(module_file=module_file)\n", "my_pipeline.py:8: Tuner: module_file other.py is not the Trainer's, penguin_utils.py"},
		// 10,000 calls are recorded
		{channels + "while True:\n  Trainer(module_file=module_file)\n", "a second Trainer(...)"},
	} {
		got, err := translate(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s\n%s", err, c.want, got)
		}
	}
}

// The text of a file can neither control the terminal on which its pipeline file is displayed, nor
// look like another file.
func TestAPipelineFileHoldsNothingThatActsOnATerminal(t *testing.T) {
	t.Parallel()
	got, err := translate(t, channels+`Trainer(module_file=module_file, **{"a\x1b[2J\u202eb": 1})`)
	if want := `# warning: line 8: Trainer: a\x1b[2J\u202eb has no equivalent`; err != nil || !strings.Contains(got, want) {
		t.Errorf("got %q, %v, want %s", got, err, want)
	}
	for _, text := range []string{`\x1b]0;x\x07`, `a\u202eb`, `\x9b2J`} {
		got, err := translate(t, channels+`Trainer(module_file=module_file, custom_config={"a": "`+text+`"})`)
		if err == nil || !strings.Contains(err.Error(), "my_pipeline.py:8: Trainer: an argument, or one of a Tuner, holds the character U+") {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	if got, err := translate(t, channels+`Trainer(module_file=module_file, custom_config={"a": "tab\tline\nmän"})`); err != nil {
		t.Errorf("%q: %v", got, err)
	}
}

// An endless loop is stopped; the result does not depend on how long that takes.
func TestEndsAnEndlessLoop(t *testing.T) {
	t.Parallel()
	_, err := record(t, "while True: pass\n", time.Second)
	var wrong *tfxdsl.Error
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "not done after 1s: does it contain an endless loop?") {
		t.Errorf("got %v", err)
	}
}

// A file can't write or connect, and may read existing files.
func TestAFileIsConfined(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	target := filepath.Join(t.TempDir(), "written")
	text := channels + `
import socket
said = {}
for what, do in (("write", lambda: open("` + target + `", "w")), ("connect", lambda: socket.create_connection(("127.0.0.1", ` + strings.TrimPrefix(listener.Addr().String(), "127.0.0.1:") + `), 5))):
  try:
    do()
    said[what] = "done"
  except OSError as error:
    said[what] = type(error).__name__
Trainer(module_file=module_file, custom_config=said, train_args=trainer_pb2.TrainArgs(num_steps=1))
`
	r, err := record(t, text, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Pipeline()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(target); confines() && (err == nil || !strings.Contains(string(got), "write: PermissionError")) {
		t.Errorf("the file was written: %s", got)
	}
	if r.Isolated == strings.Contains(string(got), "connect: done") {
		t.Errorf("isolated: %v, %s", r.Isolated, got)
	}
}

// Processes that a file starts end with it, and none can access the terminal of this one.
func TestAFileLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	text := channels + `
import os, signal
parent = os.getsid(os.getppid())
read, write = os.pipe()
if os.fork() == 0:
  os.setsid()
  if os.fork():
    os._exit(0)
  os.write(write, str(os.getpid()).encode())
  os.closerange(0, 1000)
  while True:
    signal.pause()
said = {"left": int(os.read(read, 100)), "in_our_session": os.getsid(0) == parent}
Trainer(module_file=module_file, custom_config=said, train_args=trainer_pb2.TrainArgs(num_steps=1))
`
	got, err := translate(t, text)
	if err != nil {
		t.Fatal(err)
	}
	var left int
	if _, after, ok := strings.Cut(got, "left: "); ok {
		left, _ = strconv.Atoi(strings.Fields(after)[0])
	}
	if left == 0 || !strings.Contains(got, "in_our_session: false") {
		t.Errorf("it left a process or is in the session of this one: %s", got)
	}
	if running := exec.Command("kill", "-0", strconv.Itoa(left)); confines() && running.Run() == nil {
		t.Errorf("process %d is still running", left)
		_ = exec.Command("kill", "-9", strconv.Itoa(left)).Run()
	}
}

// Only a bounded part of a file's output is kept in memory.
func TestAFileThatWritesWithoutEndIsRefused(t *testing.T) {
	t.Parallel()
	_, err := record(t, `
import os
block = b"x" * (1 << 20)
for fd in range(3, 20):
  try:
    for _ in range(40):
      os.write(2, block)
      os.write(fd, block)
  except OSError:
    pass
`, 5*time.Minute)
	if err == nil || !strings.Contains(err.Error(), "its calls of tfx take more than 16 MiB") {
		t.Errorf("got %.300v", err)
	}
}
