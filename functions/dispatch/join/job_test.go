package join_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

const penguin = `
pipeline: penguin
module: builtin:dnn
trainer:
  wait_for: [transform, hparams]
  train_args: {num_steps: 100}
  hyperparameters: run
`

func parse(t *testing.T, text string) pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Parse("penguin.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func recorded(sequence uint64, id string, data events.Data) events.Recorded {
	return events.Recorded{
		Message: events.Message{Stream: "EVENTS", Sequence: sequence, Stored: time.Unix(int64(sequence), 0).UTC()},
		Event:   events.Event{ID: id, Source: "/test", Pipeline: "penguin", Run: "monday", Data: data},
	}
}

// story returns the events of one run: each twice, under two ids, and one that no run waits for.
func story() []events.Recorded {
	return []events.Recorded{
		recorded(3, "t1", &events.TransformReady{TransformGraph: "s3://b/graph", TransformedExamples: []events.Examples{{URI: "s3://b/tx"}}}),
		recorded(5, "h1", &events.HParamsReady{Hyperparameters: "s3://b/hp1"}),
		recorded(7, "t2", &events.TransformReady{TransformGraph: "s3://b/graph2"}),
		recorded(8, "h2", &events.HParamsReady{Hyperparameters: "s3://b/hp2"}),
		recorded(9, "e1", &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://b/raw"}}}),
	}
}

func joinOf(evs []events.Recorded) join.Join {
	j := join.Join{Pipeline: "penguin", Run: "monday", State: join.Waiting}
	for _, r := range evs {
		if pinned, ok := join.EventOf(r); ok {
			j = j.Add(pinned)
		}
	}
	return j
}

// Statistics arrive with the transform graph if the pipeline does not wait for examples.ready.
func TestStatisticsOfATransformAreAnInputOfTheJob(t *testing.T) {
	t.Parallel()
	ready := &events.TransformReady{TransformGraph: "s3://b/graph", Statistics: "s3://b/stats"}
	hparams := &events.HParamsReady{Hyperparameters: "s3://b/hp1"}
	p := parse(t, penguin)
	job, err := joinOf([]events.Recorded{recorded(3, "t1", ready), recorded(5, "h1", hparams)}).Pin(p, 1, join.Latest{}).Job(p, events.FunctionTrain, join.Retry{})
	if err != nil || job.Inputs.Statistics != "s3://b/stats" {
		t.Errorf("inputs %+v, %v", job.Inputs, err)
	}
}

func TestEventsInAnyOrderAndNumberMakeTheSameJob(t *testing.T) {
	t.Parallel()
	p := parse(t, penguin)
	want, err := joinOf(story()).Pin(p, 1, join.Latest{}).Job(p, events.FunctionTrain, join.Retry{})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		evs := slices.Concat(story(), story())
		random.Shuffle(len(evs), func(i, j int) { evs[i], evs[j] = evs[j], evs[i] })
		got, err := joinOf(evs).Pin(p, 1, join.Latest{}).Job(p, events.FunctionTrain, join.Retry{})
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != want.ID || got.Inputs.Hyperparameters != "s3://b/hp1" || got.Inputs.TransformGraph != "s3://b/graph" {
			t.Fatalf("job %s with %+v, want %s", got.ID, got.Inputs, want.ID)
		}
	}
}

func TestAJoinSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	p := parse(t, penguin)
	j := joinOf(story()[:1])
	if missing := j.Missing(p); !slices.Equal(missing, []events.Kind{events.KindHParamsReady}) {
		t.Fatalf("waits for %v", missing)
	}
	if _, err := j.Job(p, events.FunctionTrain, join.Retry{}); err == nil {
		t.Fatal("a job came out of a join that is still waiting")
	}
}

func TestACompleteJoinNoLongerChanges(t *testing.T) {
	t.Parallel()
	j := joinOf(story()[:2]).Pin(parse(t, penguin), 4, join.Latest{})
	late, _ := join.EventOf(recorded(1, "earlier", &events.HParamsReady{Hyperparameters: "s3://b/other"}))
	if after := j.Add(late); len(after.Events) != 2 || after.Events[1].ID != "h1" {
		t.Fatalf("a late event changed it: %+v", after.Events)
	}
}

func TestWhateverDecidesAJobIsInItsID(t *testing.T) {
	t.Parallel()
	p := parse(t, penguin)
	base := joinOf(story())
	ids := map[string]bool{}
	otherRun := base
	otherRun.Run = "tuesday"
	for _, j := range []join.Join{base.Pin(p, 1, join.Latest{}), base.Pin(p, 2, join.Latest{}), otherRun.Pin(p, 1, join.Latest{}), joinOf(story()[:2]).Pin(p, 1, join.Latest{})} {
		job, err := j.Job(p, events.FunctionTrain, join.Retry{})
		if err != nil {
			t.Fatal(err)
		}
		ids[job.ID] = true
	}
	if len(ids) != 4 {
		t.Fatalf("%d different ids for 4 different jobs", len(ids))
	}
}

func TestHyperparameterAndBaseModelPolicies(t *testing.T) {
	t.Parallel()
	latest := join.Latest{Hyperparameters: "s3://b/latest", BaseModel: "s3://b/model"}
	for name, tc := range map[string]struct {
		policy             string
		events             int // of story
		wantHParams        string
		wantBase           string
		wantsHParams, base bool
	}{
		"none takes none":                 {"hyperparameters: none", 2, "", "", false, false},
		"latest prefers this run's":       {"hyperparameters: latest", 2, "s3://b/hp1", "", false, false},
		"latest falls back":               {"hyperparameters: latest", 1, "s3://b/latest", "", true, false},
		"auto without a tuner is latest":  {"hyperparameters: auto", 1, "s3://b/latest", "", true, false},
		"base model latest is looked up":  {"base_model: latest", 1, "s3://b/latest", "s3://b/model", true, true},
		"base model by address is itself": {"base_model: s3://b/mine", 1, "s3://b/latest", "s3://b/mine", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := parse(t, "pipeline: penguin\nmodule: ./mine\ntrainer:\n  wait_for: [transform]\n  train_args: {num_steps: 1}\n  "+tc.policy+"\n")
			j := joinOf(story()[:tc.events])
			if wants := j.Wants(p, events.FunctionTrain); wants.Hyperparameters != tc.wantsHParams || wants.BaseModel != tc.base {
				t.Errorf("wants %+v", wants)
			}
			job, err := j.Pin(p, 1, latest).Job(p, events.FunctionTrain, join.Retry{})
			if err != nil {
				t.Fatal(err)
			}
			if job.Inputs.Hyperparameters != tc.wantHParams || job.Inputs.BaseModel != tc.wantBase {
				t.Errorf("got %q and %q", job.Inputs.Hyperparameters, job.Inputs.BaseModel)
			}
		})
	}
}
