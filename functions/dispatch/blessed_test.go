package dispatch_test

import (
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

const fromBlessed = "pipeline: penguin\nmodule: ./m\ntrainer: {wait_for: [transform], base_model: blessed}\n"

// judge publishes an Evaluator's verdict on a model.
func judge(t *testing.T, bus events.Bus, id, model string, blessed bool) {
	t.Helper()
	publish(t, bus, "evaluated", id, &events.ModelBlessed{Model: "s3://bkt/" + model, Blessed: &blessed})
}

func TestARunStartsFromTheModelThatWasBlessedLast(t *testing.T) {
	t.Parallel()
	type verdict struct {
		model   string
		blessed bool
	}
	for name, c := range map[string]struct {
		verdicts []verdict
		want     string
	}{
		"none was judged":           {nil, ""},
		"none was blessed":          {[]verdict{{"a", false}}, ""},
		"the last":                  {[]verdict{{"a", true}, {"b", true}}, "s3://bkt/b"},
		"not one that wasn't":       {[]verdict{{"a", true}, {"b", false}}, "s3://bkt/a"},
		"not one that is no longer": {[]verdict{{"a", true}, {"b", true}, {"b/", false}}, "s3://bkt/a"},
		"one that is blessed again": {[]verdict{{"a", false}, {"b", true}, {"a", true}}, "s3://bkt/a"},
		"one, many events later":    {append([]verdict{{"a", true}}, make([]verdict, 1500)...), "s3://bkt/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus, d := setup(t, fromBlessed)
			for i, v := range c.verdicts {
				if v.model == "" {
					v.model = fmt.Sprint("other-", i)
				}
				judge(t, bus, fmt.Sprint(i), v.model, v.blessed)
			}
			publish(t, bus, "monday", "t", transform())
			judge(t, bus, "late", "later", true)
			drain(t, d)
			if job := wantJobs(t, bus, "then", "monday"); job[0].Inputs.BaseModel != c.want {
				t.Errorf("starts from %q, want %q", job[0].Inputs.BaseModel, c.want)
			}
			if now, err := dispatch.Blessed(t.Context(), bus, "penguin", 0); now != "s3://bkt/later" || err != nil {
				t.Errorf("of the whole log %q, %v", now, err)
			}
		})
	}
}

func TestABlessingStartsNoRun(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	apply(t, bus, fromBlessed)
	d, err := dispatch.New(t.Context(), bus, nil)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, bus, "1", "a", true)
	drain(t, d)
	if _, err := dispatch.ReadJoin(t.Context(), bus, "penguin", "evaluated"); err == nil {
		t.Error("there is a join")
	}
}
