package trainer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHyperparametersOfAnySizeAreReadWithinALimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"values":[` + strings.Repeat("{},", 1<<20) + `{}]}`: "longer than 1048576 bytes",
		`{"values":{}} and more`:                              "after the JSON object",
		`{"values":`:                                          "unexpected EOF",
		`[]`:                                                  "cannot unmarshal array",
	} {
		_, err := hyperparameters(hyperparameterFile(t, text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "best_hyperparameters.txt") {
			t.Errorf("%.30s: got %v, want %s", text, err, want)
		}
	}
	values, err := hyperparameters(hyperparameterFile(t, "{\"rate\": 1.0}\n"))
	if err != nil || values["rate"] != json.Number("1.0") {
		t.Errorf("got %v, %v", values, err)
	}
}

func hyperparameterFile(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "best_hyperparameters.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
