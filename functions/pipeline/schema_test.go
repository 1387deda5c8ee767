package pipeline_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

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
		head + "trainer: {max_attempts: 0}\n", head + "trainer: {skew: maybe}\n", head + "trainer: {skew: {rows: 0}}\n", head + "trainer: {skew: {tolerance: -1}}\n",
		head + "trainer: {cache: maybe}\n", head + "trainer: {expire_after: soon}\n", head + "trainer: {window: -1}\n",
		head + "concurrency: 0\n", head + "concurrency: {newest: supersede}\n", head + "concurrency: {runs: 1, newest: first}\n",
		head + "tuner: {when: never, on_failed: ignore}\n", head + "tuner: {when: {every: 7}}\n", head + "tuner: {when: sometimes}\n",
		study + "{algorithm: bohbb}\n", study + "{algorithm: {factor: 1}}\n", study + "{objective: {direction: min}}\n", study + "{objective: [{name: a, direction: up}]}\n",
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

// concurrency has a short form, which reflection does not find.
func concurrency() *jsonschema.Schema {
	number := &jsonschema.Schema{Type: "integer", Minimum: "1", Maximum: "1000"}
	properties := jsonschema.NewProperties()
	properties.Set("runs", described(number, "Number of runs in progress"))
	properties.Set("newest", &jsonschema.Schema{Type: "string", Enum: []any{"queue", "supersede"}, Default: "queue",
		Description: "What a run does that becomes ready: queue behind the waiting runs, or supersede them"})
	long := &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{"runs"}, AdditionalProperties: jsonschema.FalseSchema}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{number, long}}
}

// skew has a short form too.
func skew() *jsonschema.Schema {
	word := &jsonschema.Schema{Enum: []any{"on", "off", true, false}, Default: "on"}
	properties := jsonschema.NewProperties()
	properties.Set("check", described(word, "off: no comparison"))
	properties.Set("rows", &jsonschema.Schema{Type: "integer", Minimum: "1", Maximum: "100000", Default: 100,
		Description: "Largest number of evaluation rows that are compared"})
	properties.Set("tolerance", &jsonschema.Schema{Type: "number", Minimum: "0", Default: json.Number("1e-5"),
		Description: "Largest difference of two answers: this much, plus this share of the largest number of the output. A greater difference fails the job"})
	long := &jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: jsonschema.FalseSchema}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{word, long}}
}

// moduleForms: a module may be a string.
func moduleForms() *jsonschema.Schema {
	long := (&jsonschema.Reflector{Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true}).Reflect(module.Source{})
	long.Version, long.ID = "", ""
	if keras, ok := long.Properties.Get("keras"); ok { // YAML parses 3 as a number
		keras.Type, keras.Enum = "", []any{"auto", "2", "3", 2, 3}
	}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", MinLength: new(uint64(1))}, long}}
}

// exportForms: an export may be a string.
func exportForms() *jsonschema.Schema {
	format := &jsonschema.Schema{Type: "string", Enum: []any{"tflite", "tflite-float16", "tflite-int8", "onnx"}}
	properties := jsonschema.NewProperties()
	properties.Set("format", described(format, "Name of the format"))
	properties.Set("required", &jsonschema.Schema{Enum: []any{"on", "off", true, false}, Default: "off",
		Description: "on: the job of a TFX module fails if its model can't be written in this format. off: the model is published without it, and a note says so"})
	long := &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{"format"}, AdditionalProperties: jsonschema.FalseSchema}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{format, long}}
}

// args may be a text, TFX's message, which reflection does not find.
func args() *jsonschema.Schema {
	long := (&jsonschema.Reflector{Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true}).Reflect(pipeline.Args{})
	long.Version, long.ID = "", ""
	text := &jsonschema.Schema{Type: "string", Description: "TFX's message as JSON or text: num_steps: 100 splits: 'train'"}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{long, text}}
}

func reflected(t *testing.T) []byte {
	t.Helper()
	reflector := jsonschema.Reflector{
		Anonymous:                  true,
		DoNotReference:             true,
		RequiredFromJSONSchemaTags: true,
		Mapper: func(of reflect.Type) *jsonschema.Schema {
			switch of {
			case reflect.TypeFor[pipeline.Size]():
				return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)? ?([TGMK]i|[TGMk])?B$`}
			case reflect.TypeFor[pipeline.Switch]():
				return &jsonschema.Schema{Enum: []any{"on", "off", true, false}}
			case reflect.TypeFor[pipeline.Expiry]():
				return &jsonschema.Schema{Type: "string", Pattern: `^(never|([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))*)$`, MinLength: new(uint64(2))}
			case reflect.TypeFor[pipeline.Args]():
				return args()
			case reflect.TypeFor[pipeline.Module]():
				return moduleForms()
			case reflect.TypeFor[pipeline.Concurrency]():
				return concurrency()
			case reflect.TypeFor[pipeline.Export]():
				return exportForms()
			case reflect.TypeFor[pipeline.Skew]():
				return skew()
			case reflect.TypeFor[pipeline.Duration]():
				return &jsonschema.Schema{Type: "string", Pattern: "^" + duration + "$", MinLength: new(uint64(2))}
			case reflect.TypeFor[pipeline.When]():
				return whenForms()
			case reflect.TypeFor[pipeline.Algorithm]():
				return algorithmForms()
			case reflect.TypeFor[pipeline.Objectives]():
				return objectiveForms()
			case reflect.TypeFor[pipeline.Stopping]():
				return stoppingForms()
			}
			return nil
		},
	}
	schema := reflector.Reflect(&pipeline.Pipeline{})
	trainer, _ := schema.Properties.Get("trainer")
	waitFor, _ := trainer.Properties.Get("wait_for")
	for _, word := range events.WaitWords() {
		waitFor.Items.Enum = append(waitFor.Items.Enum, word)
	}
	schema.ID = "https://stoker.dev/schema/pipeline.v1.json"
	schema.Title = "Pipeline"
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
