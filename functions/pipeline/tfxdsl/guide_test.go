package tfxdsl_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// guidePrelude defines the names that the blocks of TFX's guide assume.
const guidePrelude = `
from tfx import v1 as tfx
from tfx.components import CsvExampleGen, SchemaGen, Transform, Trainer, Tuner
from tfx.dsl.components.common.importer import Importer
from tfx.proto import trainer_pb2
from tfx.types.standard_artifacts import HyperParameters
from tfx.v1 import proto
from tfx.v1.extensions import google_cloud_ai_platform
from tfx.v1.extensions.google_cloud_ai_platform.experimental import TUNING_ARGS_KEY
example_gen = CsvExampleGen(input_base="data")
schema_gen = infer_schema = SchemaGen(statistics=None)
transform = Transform(examples=example_gen.outputs["examples"], schema=schema_gen.outputs["schema"])
module_file = "penguin_utils.py"
`

// The blocks of docs/guide/trainer.md and docs/guide/tuner.md of TFX that call Trainer or Tuner,
// without their comments. A bare ... between lines is Python and stays. Between arguments it is a
// SyntaxError in the guide itself: there, stock stands for the arguments that the guide leaves out,
// which are those of the block before it.
func TestTheBlocksOfTFXsGuide(t *testing.T) {
	t.Parallel()
	const stock = `module_file=module_file, examples=transform.outputs['transformed_examples'], transform_graph=transform.outputs['transform_graph'],
    train_args=trainer_pb2.TrainArgs(num_steps=20), eval_args=trainer_pb2.EvalArgs(num_steps=5)`
	for name, c := range map[string]struct{ text, want string }{
		"trainer": {`
from tfx.components import Trainer

...

trainer = Trainer(
    module_file=module_file,
    examples=transform.outputs['transformed_examples'],
    transform_graph=transform.outputs['transform_graph'],
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
		"trainer without Transform": {`
trainer = Trainer(
    module_file=module_file,
    examples=example_gen.outputs['examples'],
    schema=infer_schema.outputs['schema'],
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
  - examples
`},
		"tuner and trainer": {`
...
tuner = Tuner(
    module_file=module_file,
    examples=transform.outputs['transformed_examples'],
    transform_graph=transform.outputs['transform_graph'],
    train_args=trainer_pb2.TrainArgs(num_steps=20),
    eval_args=trainer_pb2.EvalArgs(num_steps=5))

trainer = Trainer(
    module_file=module_file,
    examples=transform.outputs['transformed_examples'],
    transform_graph=transform.outputs['transform_graph'],
    schema=schema_gen.outputs['schema'],
    hyperparameters=tuner.outputs['best_hyperparameters'],
    train_args=trainer_pb2.TrainArgs(num_steps=100),
    eval_args=trainer_pb2.EvalArgs(num_steps=5))
...
`, `pipeline: my-pipeline
module: penguin_utils.py
trainer:
  eval_args:
    num_steps: 5
  hyperparameters: run
  train_args:
    num_steps: 100
  wait_for:
  - transform
  - hparams
tuner:
  eval_args:
    num_steps: 5
  train_args:
    num_steps: 20
  when: always
`},
		"imported hyperparameters": {`
hparams_importer = Importer(
    source_uri='path/to/best_hyperparameters.txt',
    artifact_type=HyperParameters,
).with_id('import_hparams')

trainer = Trainer(
    ` + stock + `,
    hyperparameters = hparams_importer.outputs['result'])
`, `# warning: line 20: Trainer: hyperparameters: publish hparams.ready with path/to/best_hyperparameters.txt once; each run takes the newest
pipeline: my-pipeline
module: penguin_utils.py
trainer:
  eval_args:
    num_steps: 5
  hyperparameters: latest
  train_args:
    num_steps: 20
  wait_for:
  - transform
`},
		"parallel tuner of a cloud, alone": {`
tuner = google_cloud_ai_platform.Tuner(
    ` + stock + `,
    tune_args=proto.TuneArgs(num_parallel_trials=3),
    custom_config={
        TUNING_ARGS_KEY:
            {
                'project': ...,
                'region': ...,
                'masterConfig': ...,
                'workerConfig': ...,
            }
    })
...
`, `# warning: line 15: Tuner: no Trainer(...) was called: the trainer is filled from the Tuner, and trains with the best hyperparameters; the module needs a run_fn too
# warning: line 15: Tuner: custom_config: tfx.v1.extensions.google_cloud_ai_platform.experimental.TUNING_ARGS_KEY is for cloud executors: trainer.resources says where a job runs
pipeline: my-pipeline
module: penguin_utils.py
trainer:
  eval_args:
    num_steps: 5
  hyperparameters: run
  train_args:
    num_steps: 20
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := translate(t, guidePrelude+c.text)
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

// The examples of TFX read flags of absl, which have their defaults if no argument is given.
func TestFlagsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"absl.flags": `
import absl
from absl import flags
import sys
flags.DEFINE_enum('engine', 'local', ['local', 'spark'], 'Where Beam runs.')
flags.DEFINE_enum('flavour', default='dense', enum_values=['dense', 'tree'], help='What is trained.')
steps = flags.DEFINE_integer('steps', 7, 'Steps.')
flags.DEFINE_list('labels', 'a, b', 'Labels.')
flags.DEFINE_multi_string('splits', 'train', 'Splits.')
flags.DEFINE_string('nothing', None, 'None.')
engine_args = {'local': ['--direct'], 'spark': []}
if __name__ == '__main__':
  absl.logging.set_verbosity(absl.logging.INFO)
  absl.flags.FLAGS(sys.argv)
  chosen, beam = f'utils_{flags.FLAGS.flavour}.py', engine_args[flags.FLAGS.engine]
`,
		"FLAGS, behind app.run": `
from absl import app
from absl.flags import DEFINE_list, DEFINE_multi_string, DEFINE_string, FLAGS
import absl.flags as flags
DEFINE_string('flavour', 'dense', '')
steps = flags.DEFINE_integer(name='steps', default=7, help='')
DEFINE_list('labels', ['a', 'b'], '')
DEFINE_multi_string('splits', ['train'], '')
DEFINE_string('nothing', None, '')
chosen = None
def main(_):
  global chosen
  chosen = 'utils_%s.py' % FLAGS['flavour'].value
app.run(main)
`,
		"tf.compat.v1": `
import tensorflow as tf
flags = tf.compat.v1.flags
flags.DEFINE_string('flavour', 'dense', '')
steps = flags.DEFINE_integer('steps', '7', '')
flags.DEFINE_list('labels', 'a,b', '')
flags.DEFINE_multi_string('splits', 'train', '')
tf.compat.v1.app.flags.DEFINE_string('nothing', None, '')
chosen = 'utils_' + flags.FLAGS.flavour + '.py'
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := translate(t, text+`
from tfx import v1 as tfx
tfx.components.Trainer(module_file=chosen, train_args=tfx.proto.TrainArgs(num_steps=steps.value, splits=flags.FLAGS.splits),
  custom_config={'labels': flags.FLAGS.labels, 'nothing': flags.FLAGS.nothing})
`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`pipeline: my-pipeline
module: utils_dense.py
trainer:
  custom_config:
    labels:
    - a
    - b
    nothing: null
  hyperparameters: none
  train_args:
    num_steps: 7
    splits:
    - train
  wait_for:
  - examples
`, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A RuntimeParameter of Kubeflow's examples has its default.
func TestARuntimeParameterIsItsDefault(t *testing.T) {
	t.Parallel()
	got, err := translate(t, `from tfx import v1 as tfx
steps = tfx.dsl.experimental.RuntimeParameter(name='steps', default='{"num_steps": 30}', ptype=str)
tfx.components.Trainer(module_file='m.py', train_args=steps)
`)
	if want := "# warning: line 3: Trainer: train_args is a RuntimeParameter: its default is taken\n"; err != nil || !strings.HasPrefix(got, want) || !strings.Contains(got, "num_steps: 30") {
		t.Errorf("got %s, %v", got, err)
	}
	_, err = translate(t, `from tfx import v1 as tfx
tfx.components.Trainer(module_file='m.py', train_args=tfx.dsl.experimental.RuntimeParameter(name='steps', ptype=str))
`)
	if err == nil || !strings.Contains(err.Error(), "my_pipeline.py:2: Trainer: train_args is a RuntimeParameter without a default") {
		t.Errorf("got %v", err)
	}
}

// An expression that needs the value of a recorded object is an error that names the object.
func TestSaysWhatHasNoValue(t *testing.T) {
	t.Parallel()
	const head = "from tfx import v1 as tfx\nimport unknown_package\nimport os\n"
	for _, c := range []struct{ text, want string }{
		{"{'a': 1}[unknown_package.runner]", "my_pipeline.py:4: KeyError: unknown_package.runner (unknown_package.runner has no value when a pipeline is only recorded)"},
		{"{'a': 1}[f'x_{unknown_package.runner}']", "my_pipeline.py:4: KeyError: 'x_unknown_package.runner' (unknown_package.runner has no value when a pipeline is only recorded)"},
		{"unknown_package.a ^ unknown_package.b", "my_pipeline.py:4: TypeError: unknown_package.a has no value when a pipeline is only recorded: ^ needs one"},
		{"3 * unknown_package.a", "my_pipeline.py:4: TypeError: unknown_package.a has no value when a pipeline is only recorded: * needs one"},
		{"unknown_package.a > 3", "my_pipeline.py:4: TypeError: unknown_package.a has no value when a pipeline is only recorded: > needs one"},
		{"range(unknown_package.a)", "my_pipeline.py:4: TypeError: unknown_package.a has no value when a pipeline is only recorded"},
		{"os.path.join('a', unknown_package.a)", "my_pipeline.py:4: TypeError: unknown_package.a has no value when a pipeline is only recorded"},
		{"len(unknown_package.a)", "my_pipeline.py:4: TypeError: object of type 'Name' has no len() (what is imported from a package that is not run, as tfx is not, has no value when a pipeline is only recorded)"},
		{"from absl import flags; flags.FLAGS.surprise", "my_pipeline.py:4: AttributeError: no flag --surprise is defined"},
		{"from absl import flags; flags.DEFINE_string('m', None, '', required=True); flags.FLAGS.m", "my_pipeline.py:4: TypeError: flag --m is required and has no default"},
		{"from absl import flags; flags.DEFINE_string('m', None, ''); flags.mark_flag_as_required('m'); flags.FLAGS.m", "my_pipeline.py:4: TypeError: flag --m is required and has no default"},
		{"tfx.components.Trainer(module_file=f'{unknown_package.root}/m.py')", "my_pipeline.py:4: Trainer: module_file is unknown_package.root/m.py, which is not known before the pipeline runs"},
	} {
		got, err := translate(t, head+c.text+"\n")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s\n%s", c.text, err, c.want, got)
		}
	}
	// Predicates and pipes have no value, and are no error.
	if got, err := translate(t, head+`
evaluator = tfx.components.Evaluator()
with tfx.dsl.Cond(evaluator.outputs['blessing'].future()[0].value >= 0.5):
  pass
import apache_beam as beam
'read' >> beam.Create([1]) | beam.Map(str)
tfx.components.Trainer(module_file='m.py')
`); err != nil {
		t.Errorf("%v\n%s", err, got)
	}
}
