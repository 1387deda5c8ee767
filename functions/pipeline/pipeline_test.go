package pipeline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	got := parse(t, "pipeline: penguin\nmodule: builtin:dnn\n")
	want := pipeline.Pipeline{
		Name:   "penguin",
		Module: pipeline.Module{Path: "builtin:dnn"},
		Trainer: pipeline.Trainer{
			WaitFor:         []string{"transform"},
			TrainArgs:       pipeline.Args{Splits: []string{"train"}},
			EvalArgs:        pipeline.Args{Splits: []string{"eval"}},
			Hyperparameters: "auto",
			BaseModel:       "none",
			Cache:           true,
			ExpireAfter:     pipeline.Expiry(168 * time.Hour),
			Skew:            pipeline.Skew{Check: true, Rows: 100, Tolerance: 1e-5},
			Resources:       pipeline.Resources{Class: "cpu", Workers: 1},
			MaxAttempts:     1,
			MaxCrashes:      3,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := parse(t, string(text))
	got, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"pipeline":"penguin","module":"./module","trainer":{"wait_for":["examples","hparams"],` +
		`"train_args":{"num_steps":100,"splits":["train","more"]},"eval_args":{"num_steps":5,"splits":["eval"]},` +
		`"hyperparameters":"run","base_model":"latest","cache":"off","window":3,"expire_after":"48h",` +
		`"custom_config":{"batch_size":20,"big":12345678901234567890,"half":0.5,"label":"species","layers":[8,8],` +
		`"note":"two\nlines\n","one":1.0,"shared":{"a":true},"shared_again":{"a":true},"text":"1e-9","tiny":1e-09},` +
		`"exports":["tflite","onnx"],"skew":{"check":"on","rows":50,"tolerance":0.0001},"resources":{"class":"gpu","memory":"8GiB","timeout":"6h","workers":1},"max_attempts":2,"max_crashes":4,"seed":-7},"tuner":{"when":"never","on_failed":"fail"},"concurrency":{"runs":2,"newest":"supersede"}}`
	if string(got) != want {
		t.Errorf("JSON is\n%s\nwant\n%s", got, want)
	}
}

func TestAPipelineSurvivesJSON(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := parse(t, string(text))
	again, err := pipeline.FromJSON(asJSON(t, p))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("after JSON (-before +after):\n%s", diff)
	}
}

func TestJSONIsTheSameHoweverNumbersAreWritten(t *testing.T) {
	t.Parallel()
	text := `{"pipeline":"p","module":"builtin:dnn","trainer":{"custom_config":{"a":%s}}}`
	for _, pair := range [][2]string{{"1.50", "1.5"}, {"1E3", "1000.0"}, {"0.1e1", "1.0"}} {
		one, err := pipeline.FromJSON(fmt.Appendf(nil, text, pair[0]))
		if err != nil {
			t.Fatal(err)
		}
		other, err := pipeline.FromJSON(fmt.Appendf(nil, text, pair[1]))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := string(asJSON(t, one)), string(asJSON(t, other)); a != b {
			t.Errorf("%s gives %s, %s gives %s", pair[0], a, pair[1], b)
		}
	}
}

func TestWaitForIsInferred(t *testing.T) {
	t.Parallel()
	p := parse(t, "pipeline: p\nmodule: builtin:dnn\ntrainer: {hyperparameters: run}\n")
	if want := []string{"transform", "hparams"}; !cmp.Equal(want, p.Trainer.WaitFor) {
		t.Errorf("waits for %v, want %v", p.Trainer.WaitFor, want)
	}
}

func TestARunThatTunesWaitsForItsHyperparameters(t *testing.T) {
	t.Parallel()
	p := parse(t, "pipeline: p\nmodule: builtin:dnn\ntuner: {when: never}\n")
	if want := []string{"transform", "hparams"}; !cmp.Equal(want, p.Trainer.WaitFor) || !p.AwaitsTuning() || p.Tuner.OnFailed != "latest" {
		t.Errorf("waits for %v, tuner %+v", p.Trainer.WaitFor, p.Tuner)
	}
}

func TestAModelIsASavedModelWhetherThatIsSaidOrNot(t *testing.T) {
	t.Parallel()
	const text = "pipeline: p\nmodule: ./m.py\n"
	plain, said, another := parse(t, text), parse(t, text+"trainer: {model: saved_model}\n"), parse(t, text+"trainer: {model: any}\n")
	if canonical(t, plain) != canonical(t, said) || canonical(t, plain) == canonical(t, another) {
		t.Errorf("%s\n%s\n%s", canonical(t, plain), canonical(t, said), canonical(t, another))
	}
}

func canonical(t *testing.T, p pipeline.Pipeline) string {
	t.Helper()
	text, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestASearchIsTheTrainersWhereTheTunerSaysNothing(t *testing.T) {
	t.Parallel()
	const trainer = "pipeline: p\nmodule: ./m.py\ntrainer: {train_args: {num_steps: 9, splits: [a]}, eval_args: {num_steps: 3}, " +
		"custom_config: {k: 1}, seed: 4, max_attempts: 2, resources: {class: gpu, memory: 1GiB, workers: 2}}\n"
	alone := pipeline.Resources{Class: "gpu", Memory: 1 << 30, Workers: 1}
	want := pipeline.Search{
		TrainArgs: pipeline.Args{NumSteps: 9, Splits: []string{"a"}}, EvalArgs: pipeline.Args{NumSteps: 3, Splits: []string{"eval"}},
		CustomConfig: map[string]any{"k": json.Number("1")}, Resources: alone, MaxAttempts: 2, MaxCrashes: 3, Seed: 4,
	}
	p := parse(t, trainer+"tuner: {when: always}\n")
	if got := p.Search(); !cmp.Equal(want, got) || !p.Tunes() {
		t.Errorf("searches with %+v", got)
	}
	want.TrainArgs.NumSteps, want.EvalArgs, want.CustomConfig = 2, pipeline.Args{Splits: []string{"b"}}, map[string]any{}
	want.Resources, want.MaxAttempts, want.MaxCrashes, want.MaxLost = pipeline.Resources{Class: "cpu", Workers: 1}, 5, 6, 7
	p = parse(t, trainer+"tuner: {when: always, train_args: {num_steps: 2}, eval_args: 'splits: \"b\"', custom_config: {}, resources: {}, max_attempts: 5, max_crashes: 6, max_lost: 7}\n")
	if got := p.Search(); !cmp.Equal(want, got) {
		t.Errorf("searches with %+v", got)
	}
	body, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := pipeline.FromJSON(body); err != nil || !cmp.Equal(p, again) {
		t.Errorf("read again: %+v, %v", again, err)
	}
}

func TestConcurrencyHasAShortForm(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: builtin:dnn\n"
	short, long := parse(t, head+"concurrency: 3\n"), parse(t, head+"concurrency: {runs: 3, newest: queue}\n")
	if diff := cmp.Diff(long, short); diff != "" {
		t.Errorf("short and long differ (-long +short):\n%s", diff)
	}
}

func TestCacheIsOnOrOffHoweverYAMLSaysIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pipeline.Switch{
		"on": true, "off": false, "true": true, "false": false, "'off'": false, "": true,
	} {
		p := parse(t, "pipeline: p\nmodule: builtin:dnn\ntrainer:\n  cache: "+text+"\n")
		if p.Trainer.Cache != want {
			t.Errorf("cache: %s is read as %s", text, p.Trainer.Cache)
		}
	}
}

func TestArgsAreTakenAsTFXUsersHaveThem(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: builtin:dnn\ntrainer:\n  train_args: "
	want := pipeline.Args{NumSteps: 100, Splits: []string{"train", "more"}}
	for _, text := range []string{
		"{num_steps: 100, splits: [train, more]}",
		"\"num_steps: 100 splits: 'train' splits: 'more'\"",
		"'splits: [\"train\", \"more\"], num_steps: 100 # all'",
		`'{"splits": ["train", "more"], "num_steps": 100}'`,
		`'{"numSteps": "100", "splits": ["train", "more"]}'`, // allowed by protobuf's JSON mapping
		"|\n    num_steps: 100\n    splits: \"train\"\n    splits: \"more\"\n",
		"|\n    {\n      \"num_steps\": 100,\n      \"splits\": [\"train\", \"more\"]\n    }\n",
	} {
		p := parse(t, head+text+"\n")
		if diff := cmp.Diff(want, p.Trainer.TrainArgs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if p := parse(t, head+"''\n"); !cmp.Equal(p.Trainer.TrainArgs, pipeline.Args{Splits: []string{"train"}}) {
		t.Errorf("an empty text is read as %+v", p.Trainer.TrainArgs)
	}
}

func TestARunMayWaitWithoutLimit(t *testing.T) {
	t.Parallel()
	p := parse(t, "pipeline: p\nmodule: builtin:dnn\ntrainer: {expire_after: never}\n")
	if after, expires := p.Trainer.ExpireAfter.After(); expires || p.Trainer.ExpireAfter.String() != "never" {
		t.Errorf("expires after %s", after)
	}
}

func TestAKeyWithoutAValueIsLeftOut(t *testing.T) {
	t.Parallel()
	const text = "pipeline: p\nmodule: builtin:dnn\n"
	short, long := parse(t, text), parse(t, text+"trainer:\n  train_args:\n  exports:\n  seed: null\n  resources: ~\ntuner:\n")
	if diff := cmp.Diff(short, long); diff != "" {
		t.Errorf("left out and empty differ (-out +empty):\n%s", diff)
	}
}

func TestWhatFromJSONRefusesHasNoLines(t *testing.T) {
	t.Parallel()
	_, err := pipeline.FromJSON([]byte(`{"pipeline":"p","module":"builtin:dnn","trainer":{"train_arg":{}}}`))
	const want = "pipeline: trainer.train_arg: unknown key; did you mean train_args?"
	if err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
	for _, bad := range []string{"", "{", "[]", "{} {}", "3"} {
		if _, err := pipeline.FromJSON([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "pipeline: ") {
			t.Errorf("%q gives error %v", bad, err)
		}
	}
}

func ExampleParse() {
	p, err := pipeline.Parse("penguin.yaml", []byte(`
pipeline: penguin
module: builtin:dnn
trainer:
  train_args: {num_steps: 100}
  resources: {timeout: 90m}
`))
	fmt.Println(p.Name, p.Trainer.TrainArgs.NumSteps, p.Trainer.TrainArgs.Splits, p.Trainer.Resources.Timeout, err)

	_, err = pipeline.Parse("penguin.yaml", []byte("pipeline: Penguin\nmodule: builtin:dnn\ntrainer:\n  wait_four: [transform]\n"))
	fmt.Println(err)
	// Output:
	// penguin 100 [train] 1h30m <nil>
	// penguin.yaml:1:1: pipeline: expected a name of a-z, 0-9 and -, at most 63, not beginning with -, got "Penguin"
	// penguin.yaml:4:3: trainer.wait_four: unknown key; did you mean wait_for?
}

func parse(t *testing.T, text string) pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func asJSON(t *testing.T, p pipeline.Pipeline) []byte {
	t.Helper()
	text, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A pipeline is compared with its next revision, by key.
func ExampleDiff() {
	parse := func(trainer string) pipeline.Pipeline {
		p, err := pipeline.Parse("penguin.yaml", []byte("pipeline: penguin\nmodule: builtin:dnn\ntrainer: "+trainer+"\n"))
		if err != nil {
			fmt.Println(err)
		}
		return p
	}
	changes, err := pipeline.Diff(parse("{train_args: {num_steps: 100}}"), parse("{train_args: {num_steps: 200}, max_attempts: 1}"))
	for _, c := range changes {
		fmt.Printf("%s: %s -> %s\n", c.Key, c.From, c.To)
	}
	fmt.Println(err)
	// Output:
	// trainer.train_args.num_steps: 100 -> 200
	// <nil>
}

// A tuner has the trainer's values where it sets none.
func ExamplePipeline_Search() {
	p, err := pipeline.Parse("penguin.yaml", []byte(`
pipeline: penguin
module: builtin:dnn
trainer: {train_args: {num_steps: 1000}, seed: 7}
tuner: {when: always, train_args: {num_steps: 50}, study: {algorithm: tpe, max_trials: 20}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	search := p.Search()
	fmt.Println(p.Tunes(), search.TrainArgs.NumSteps, search.EvalArgs.Splits, search.Seed, search.Study.Algorithm.Name, search.Study.MaxTrials)
	// Output: true 50 [eval] 7 tpe 20
}

// A caller that finds a problem later reports it at its place in the file.
func ExampleFile_At() {
	file, err := pipeline.ReadFile("penguin.yaml", []byte("pipeline: penguin\nmodule: ./missing.py\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file.At("module", errors.New("no such file")))
	// Output: penguin.yaml:2:1: no such file
}

// Every default is filled in, and secrets are hidden.
func ExamplePipeline_Masked() {
	p, err := pipeline.Parse("penguin.yaml", []byte(`
pipeline: penguin
module: builtin:dnn
trainer: {custom_config: {label: species, api_key: xyzzy}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	masked, err := p.Masked()
	if err != nil {
		fmt.Println(err)
		return
	}
	var shown struct {
		Trainer struct {
			MaxAttempts  int            `json:"max_attempts"`
			CustomConfig map[string]any `json:"custom_config"`
		} `json:"trainer"`
	}
	if err := json.Unmarshal(masked, &shown); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shown.Trainer.MaxAttempts, shown.Trainer.CustomConfig)
	// Output: 1 map[api_key:•••••• label:species]
}
