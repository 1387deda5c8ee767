package pipeline_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestADiffNamesWhatHasChanged(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: m\n"
	before := parse(t, head+"trainer: {train_args: {num_steps: 20}, custom_config: {label: species, units: [8]}}\n")
	after := parse(t, head+"trainer: {train_args: {num_steps: 30}, cache: on, custom_config: {label: species, units: [8, 8], rate: 0.1}}\n")
	got, err := pipeline.Diff(before, after)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	want := []pipeline.Change{
		{Key: "trainer.custom_config.rate", To: raw("0.1")},
		{Key: "trainer.custom_config.units", From: raw("[8]"), To: raw("[8,8]")},
		{Key: "trainer.train_args.num_steps", From: raw("20"), To: raw("30")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if same, err := pipeline.Diff(after, after); err != nil || len(same) != 0 {
		t.Errorf("%+v, %v", same, err)
	}
	back, err := pipeline.Diff(after, before)
	if err != nil || len(back) != 3 || back[0].To != nil || string(back[0].From) != "0.1" {
		t.Errorf("%+v, %v", back, err)
	}
}
