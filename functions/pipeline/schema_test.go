package pipeline_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

var update = flag.Bool("update", false, "write pipeline.v1.json anew from the Go types")

func TestTheSchemaIsThatOfTheTypes(t *testing.T) {
	t.Parallel()
	const path = "pipeline.v1.json"
	want := reflected(t)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the Go types say; run `go generate ./functions/pipeline` (-types +file):\n%s", path, diff)
	}
	if !bytes.Equal(got, pipeline.Schema()) {
		t.Error("Schema is another one than the file")
	}
}

// A tag can't name a constant.
func TestTheTagsAllowTheValuesOfTheConstants(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		of    any
		field string
		words []string
	}{
		{pipeline.Trainer{}, "Hyperparameters", []string{pipeline.HyperparametersNone, pipeline.HyperparametersRun, pipeline.HyperparametersLatest, pipeline.HyperparametersAuto}},
		{pipeline.Trainer{}, "Model", []string{pipeline.ModelSaved, pipeline.ModelAny}},
		{pipeline.Resources{}, "Strategy", []string{module.StrategyMirrored, module.StrategyMultiWorker, module.StrategyTPU}},
		{pipeline.Tuner{}, "OnFailed", []string{pipeline.OnFailedLatest, pipeline.OnFailedFail}},
		{pipeline.Concurrency{}, "Newest", []string{pipeline.NewestQueue, pipeline.NewestSupersede}},
		{pipeline.Algorithm{}, "Acquisition", []string{tune.LogEI, tune.UCB}},
		{pipeline.Objective{}, "Direction", []string{string(tune.Min), string(tune.Max)}},
		{pipeline.Validation{}, "Order", []string{pipeline.FoldsRandom, pipeline.FoldsForward}},
		{pipeline.Stopping{}, "Rule", []string{tune.Median, tune.Percentile, pipeline.StoppingNone}},
		{module.Source{}, "Keras", []string{module.KerasAuto, module.Keras2, module.Keras3}},
		{module.Source{}, "Autograph", []string{module.AutographUser, module.AutographAll}},
	} {
		if tag, want := tagOf(t, test.of, test.field), "enum="+strings.Join(test.words, ",enum=")+","; !strings.HasPrefix(tag, want) {
			t.Errorf("the tag of %T.%s is %s, want %s", test.of, test.field, tag, want)
		}
	}
	if tag, want := tagOf(t, pipeline.Validation{}, "Folds"), fmt.Sprintf("minimum=%d,maximum=%d,", tune.MinFolds, tune.MaxFolds); !strings.Contains(tag, want) {
		t.Errorf("the tag of Folds is %s, want %s", tag, want)
	}
	if tag, want := tagOf(t, pipeline.Resources{}, "Workers"), fmt.Sprintf("maximum=%d,", module.MaxWorkers); !strings.Contains(tag, want) {
		t.Errorf("the tag of Workers is %s, want %s", tag, want)
	}
}

func tagOf(t *testing.T, of any, name string) string {
	t.Helper()
	field, ok := reflect.TypeOf(of).FieldByName(name)
	if !ok {
		t.Fatalf("%T has no field %s", of, name)
	}
	return field.Tag.Get("jsonschema")
}

// The schema accepts everything that Parse accepts, except keys without a value; it rejects the
// simple mistakes that Parse rejects.
func TestTheSchemaAgreesWithParse(t *testing.T) {
	t.Parallel()
	compiled := compile(t)
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(full), "pipeline: p\nmodule: builtin:dnn\n", "pipeline: p\nmodule: m\nconcurrency: 3\ntrainer: {cache: false, expire_after: never, skew: off, model: saved_model}\n",
		"pipeline: p\nmodule: m.py\ntrainer: {exports: [onnx, {format: tflite, required: true}], resources: {workers: 2}}\n",
		"pipeline: p\nmodule: m\ntrainer: {train_args: 'num_steps: 3', eval_args: '{}'}\n", wholeStudy, wordyStudy,
		"pipeline: p\nmodule: builtin:dnn\ntuner: {when: always, study: {validation: {folds: 5, order: forward}}}\n",
		"pipeline: p\nmodule: m\ntuner: {when: changed}\n", "pipeline: p\nmodule: m\ntuner: {when: 'every: 1d12h'}\n"} {
		parse(t, text)
		if err := compiled.Validate(plain(t, text)); err != nil {
			t.Errorf("%s\nis refused by the schema: %v", text, err)
		}
	}
	const head = "pipeline: p\nmodule: builtin:dnn\n"
	const study = head + "tuner:\n  when: always\n  study: "
	for _, text := range []string{
		"{}", "pipeline: p\n", "pipeline: P\nmodule: m\n", head + "trainer: {trian_args: {}}\n", head + "trainer: {seed: one}\n",
		head + "trainer: {wait_for: [all]}\n", head + "trainer: {hyperparameters: newest}\n",
		head + "trainer: {resources: {memory: 8}}\n", head + "trainer: {resources: {timeout: soon}}\n",
		head + "trainer: {resources: {class: gpu-}}\n", head + "tuner: {when: never, resources: {class: more-than-21-characters}}\n",
		head + "trainer: {max_attempts: 0}\n", head + "trainer: {skew: maybe}\n", head + "trainer: {skew: {rows: 0}}\n", head + "trainer: {skew: {tolerance: -1}}\n",
		head + "trainer: {cache: maybe}\n", head + "trainer: {expire_after: soon}\n", head + "trainer: {window: -1}\n",
		head + "concurrency: 0\n", head + "concurrency: {newest: supersede}\n", head + "concurrency: {runs: 1, newest: first}\n",
		head + "tuner: {when: never, on_failed: ignore}\n", head + "tuner: {when: {every: 7}}\n", head + "tuner: {when: sometimes}\n",
		study + "{algorithm: bohbb}\n", study + "{algorithm: {factor: 1}}\n", study + "{objective: {direction: min}}\n", study + "{objective: [{name: a, direction: up}]}\n",
		study + "{validation: {order: forward}}\n", study + "{validation: {folds: 1}}\n", study + "{validation: {folds: 21}}\n", study + "{validation: {folds: 5, order: backward}}\n",
		study + "{stopping: mean}\n", study + "{stopping: {percentile: 101}}\n", study + "{constraints: [{max: 1}]}\n", study + "{max_trials: 0}\n",
		study + "{max_retries_per_trial: -1}\n", study + "{from: newest}\n", study + "{best_model: maybe}\n", study + "{points: {units: 1}}\n",
		head + "tuner: {}\n", head + "trainer: {exports: [pmml]}\n", head + "trainer: {model: pickle}\n", head + "trainer: {exports: [{required: true}]}\n", head + "trainer: {train_args: {splits: train}}\n",
	} {
		if _, err := pipeline.Parse("p.yaml", []byte(text)); err == nil {
			t.Errorf("%s\nis taken by Parse", text)
		}
		if compiled.Validate(plain(t, text)) == nil {
			t.Errorf("%s\nis taken by the schema", text)
		}
	}
}

func compile(t *testing.T) *validator.Schema {
	t.Helper()
	document, err := validator.UnmarshalJSON(bytes.NewReader(pipeline.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("pipeline.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("pipeline.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func plain(t *testing.T, text string) any {
	t.Helper()
	inJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	value, err := validator.UnmarshalJSON(bytes.NewReader(inJSON))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func reflected(t *testing.T) []byte {
	t.Helper()
	schema := full[pipeline.Pipeline]()
	trainer, _ := schema.Properties.Get("trainer")
	waitFor, _ := trainer.Properties.Get("wait_for")
	waitFor.Items.Enum = words(events.WaitWords())
	schema.Version, schema.ID = jsonschema.Version, "https://stoker.dev/schema/pipeline.v1.json"
	schema.Title = "Pipeline"
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// full returns the schema of T without its short forms.
func full[T any]() *jsonschema.Schema {
	reflector := jsonschema.Reflector{Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, Mapper: func(t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[T]() {
			return nil
		}
		return special(t)
	}}
	schema := reflector.Reflect(new(T))
	schema.Version, schema.ID = "", ""
	return schema
}

const duration = `([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))*`

// special returns the schema of a type that reflection does not find; nil for other types.
func special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[pipeline.Size]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)? ?([TGMK]i|[TGMk])?B$`}
	case reflect.TypeFor[pipeline.Switch]():
		return &jsonschema.Schema{Enum: []any{"on", "off", true, false}}
	case reflect.TypeFor[pipeline.Expiry]():
		return &jsonschema.Schema{Type: "string", Pattern: `^(never|` + duration + `)$`, MinLength: new(uint64(2))}
	case reflect.TypeFor[pipeline.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: "^" + duration + "$", MinLength: new(uint64(2))}
	case reflect.TypeFor[pipeline.Args]():
		text := &jsonschema.Schema{Type: "string", Description: "TFX's message as JSON or text: num_steps: 100 splits: 'train'"}
		return oneOf(full[pipeline.Args](), text)
	case reflect.TypeFor[pipeline.When]():
		return when()
	case reflect.TypeFor[pipeline.Module]():
		long := full[module.Source]()
		keras, _ := long.Properties.Get("keras")
		keras.Type, keras.Enum = "", append(keras.Enum, 2, 3) // YAML parses 3 as a number
		return short(long, "path", nil)
	case reflect.TypeFor[pipeline.Concurrency]():
		return short(full[pipeline.Concurrency](), "runs", nil)
	case reflect.TypeFor[pipeline.Export]():
		return short(full[pipeline.Export](), "format", module.Formats())
	case reflect.TypeFor[pipeline.Skew]():
		return short(full[pipeline.Skew](), "check", nil)
	case reflect.TypeFor[pipeline.Algorithm]():
		return short(full[pipeline.Algorithm](), "name", tune.Algorithms())
	case reflect.TypeFor[pipeline.Stopping]():
		return short(full[pipeline.Stopping](), "rule", nil)
	case reflect.TypeFor[pipeline.Objectives]():
		one := short(full[pipeline.Objective](), "name", nil)
		list := &jsonschema.Schema{Type: "array", Items: one, Description: "Several metrics, of which the Pareto set is searched for"}
		return oneOf(append(one.OneOf, list)...)
	}
	return nil
}

func when() *jsonschema.Schema {
	word := &jsonschema.Schema{Type: "string", Pattern: `^(never|always|changed|every: *` + duration + `)$`}
	every := special(reflect.TypeFor[pipeline.Duration]())
	every.Description = "Age of the last search from which a run searches again"
	properties := jsonschema.NewProperties()
	properties.Set("every", every)
	return oneOf(word, &jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: jsonschema.FalseSchema, Required: []string{"every"}})
}

func oneOf(forms ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{OneOf: forms} }

// short adds a short form: the value of one key, which is one of names if there are any.
func short(long *jsonschema.Schema, key string, names []string) *jsonschema.Schema {
	value, _ := long.Properties.Get(key)
	value.Enum = append(value.Enum, words(names)...)
	bare := *value
	bare.Description, bare.Default = "", nil
	return oneOf(&bare, long)
}

func words(names []string) []any {
	var all []any
	for _, name := range names {
		all = append(all, name)
	}
	return all
}
