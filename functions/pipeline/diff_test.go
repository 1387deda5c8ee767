package pipeline_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestADiffNamesWhatHasChanged(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: m\n"
	before := parse(t, head+"trainer: {train_args: {num_steps: 20}, custom_config: {label: species, units: [8]}}\n")
	after := parse(t, head+"trainer: {train_args: {num_steps: 30}, cache: on, custom_config: {label: species, units: [8, 8], rate: 0.1, empty: {}}}\n")
	got, err := pipeline.Diff(before, after)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	want := []pipeline.Change{
		{Key: "trainer.custom_config.empty", To: raw("{}")},
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
	if err != nil || len(back) != 4 || back[1].To != nil || string(back[1].From) != "0.1" {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestASecretIsComparedAndNotShown(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: m\n"
	before := parse(t, head+"trainer: {custom_config: {db_password: hunter2, store: {credentials: {id: hunter2}, max_tokens: 5}, url: 's3://a:hunter2@b'}}\n")
	after := parse(t, head+"trainer: {custom_config: {db_password: hunter3, store: {credentials: {id: hunter3}, max_tokens: 6}, url: 's3://a:hunter3@b'}}\n")
	got, err := pipeline.Diff(before, after)
	if err != nil {
		t.Fatal(err)
	}
	hidden := json.RawMessage(`"` + mask.Hidden + `"`)
	url := json.RawMessage(`"s3://` + mask.Hidden + `@b"`)
	want := []pipeline.Change{
		{Key: "trainer.custom_config.db_password", From: hidden, To: hidden},
		{Key: "trainer.custom_config.store.credentials.id", From: hidden, To: hidden},
		{Key: "trainer.custom_config.store.max_tokens", From: json.RawMessage("5"), To: json.RawMessage("6")},
		{Key: "trainer.custom_config.url", From: url, To: url},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	shown, err := after.Masked()
	if err != nil || bytes.Contains(shown, []byte("hunter")) || !bytes.HasPrefix(shown, []byte(`{"pipeline":"p","module":`)) {
		t.Errorf("%s, %v", shown, err)
	}
	if back, err := pipeline.FromJSON(shown); err == nil || !strings.Contains(err.Error(), "trainer.custom_config.db_password: "+mask.Hidden+" stands for a secret") {
		t.Errorf("applied again: %+v, %v", back, err)
	}
}
