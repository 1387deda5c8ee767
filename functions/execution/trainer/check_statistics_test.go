package trainer_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
)

// manyLabels returns a FeatureStats.pb of some 60 MiB whose features have as many words as a reader
// keeps, each of two bytes: in memory they take many times that.
func manyLabels() []byte {
	field := func(number protowire.Number, text []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), text)
	}
	var ranks []byte
	for i := range 10_000 {
		ranks = append(ranks, field(1, field(4, []byte{byte(i % 128), byte(i / 128)}))...)
	}
	histogram := field(4, field(5, ranks))
	var features []byte
	for i := 0; len(features) < 60<<20; i++ {
		features = append(features, field(3, append(field(1, []byte{byte(i % 128), byte(i / 128 % 128), byte(i / 128 / 128)}), histogram...))...)
	}
	return field(1, features)
}

// The process that reads statistics ends with an error; this process, the worker, never reads them.
func TestStatisticsThatTakeTooMuchMemoryEndWithTheirCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "Split-train", "FeatureStats.pb")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, manyLabels(), 0o600); err != nil {
		t.Fatal(err)
	}
	question, err := json.Marshal(modelcheck.Question{Drift: &modelcheck.Drift{Before: dir, After: dir, Splits: []string{"train"}}})
	if err != nil {
		t.Fatal(err)
	}
	host, err := runner.New(runner.Options{Builtins: builtin.Digests(), Env: []string{childEnv + "=1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	_, err = host.Check(t.Context(), question, runner.Limits{MemoryBytes: 256 << 20})
	if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindResources || !strings.Contains(err.Error(), "256.0 MiB allowed") {
		t.Errorf("%v, want that it takes more than 256 MiB", err)
	}
	answer, err := host.Check(t.Context(), json.RawMessage(`{}`), runner.Limits{MemoryBytes: 256 << 20})
	if err != nil || string(answer) != "{}" {
		t.Errorf("afterwards: %s, %v", answer, err)
	}
}
