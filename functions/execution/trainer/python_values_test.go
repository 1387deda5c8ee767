package trainer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// In Python 1.0 is not 1, and {} is not None.
func TestValuesReachAModuleAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"": `"custom_config":null`, "  custom_config: {}\n": `"custom_config":{}`, "  custom_config: {rate: 1.0, n: 1}\n": `"custom_config":{"n":1,"rate":1.0}`,
	} {
		var assigned []byte
		b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
			assigned, _ = json.Marshal(a) // all of it can be written as JSON
			return writesModel(a)
		})
		b.put(t, "up/hp/best_hyperparameters.txt", `{"values": {"rate": 1.0, "id": 12345678901234567890, "units": 8}}`)
		if _, err := b.handle(t, job(t, "j1", "r", spec+config), "a1"); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{want, `"hyperparameters":{"values":{"id":12345678901234567890,"rate":1.0,"units":8}}`} {
			if !strings.Contains(string(assigned), part) {
				t.Errorf("%q: assigned %s\nwant %s", config, assigned, part)
			}
		}
	}
}
