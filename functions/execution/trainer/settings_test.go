package trainer_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A model's settings are in its event and its manifest, and therefore also in the event of a cache
// hit. Secrets are in neither.
func TestAModelSaysWhatItWasTrainedWith(t *testing.T) {
	t.Parallel()
	b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
		outcome, err := writesModel(a)
		outcome.Settings = json.RawMessage(`{"units": 8, "custom_config": {"db_password": "hunter2"}}`)
		return outcome, err
	})
	want := `{"units":8,"custom_config":{"db_password":"` + mask.Hidden + `"}}`
	for _, run := range []string{"monday", "tuesday"} {
		trained, err := b.handle(t, job(t, run, run, spec), "a-"+run)
		if err != nil {
			t.Fatal(err)
		}
		var settings bytes.Buffer
		if err := json.Compact(&settings, trained.Settings); err != nil || settings.String() != want || trained.Cached != (run == "tuesday") {
			t.Errorf("cached %v: %s, %v", trained.Cached, trained.Settings, err)
		}
	}
	for _, key := range b.keys(t, "") {
		if strings.Contains(b.text(t, key), "hunter2") {
			t.Errorf("%s holds a secret", key)
		}
	}
}
