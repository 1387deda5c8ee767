package modelcheck_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/functions/module/modelcheck"
)

// artifact writes an ExampleStatistics artifact with one split, of a data set with this many
// examples and a feature that is a or b that often.
func artifact(t *testing.T, examples uint64, a, b float64) string {
	t.Helper()
	field := func(number protowire.Number, text []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), text)
	}
	bucket := func(word string, count float64) []byte {
		return field(1, protowire.AppendFixed64(protowire.AppendTag(field(4, []byte(word)), 5, protowire.Fixed64Type), math.Float64bits(count)))
	}
	feature := append(field(1, []byte("word")), field(4, field(5, append(bucket("a", a), bucket("b", b)...)))...)
	data := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), examples)
	return write(t, field(1, append(data, field(3, feature)...)))
}

func write(t *testing.T, text []byte) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "Split-train", "FeatureStats.pb")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheCheckReadsStatistics(t *testing.T) {
	t.Parallel()
	before, after := artifact(t, 10, 5, 5), artifact(t, 20, 18, 2)
	answer, err := modelcheck.Do(t.Context(), modelcheck.Question{
		Statistics: after, Drift: &modelcheck.Drift{Before: before, After: after, Splits: []string{"train"}},
	})
	if err != nil || answer.Refused != "" || answer.NumExamples["train"] != 20 {
		t.Fatalf("%+v, %v", answer, err)
	}
	if len(answer.Drift) != 1 || answer.Drift[0].Feature != "word" || math.Abs(answer.Drift[0].Value-0.4) > 1e-9 {
		t.Errorf("%+v, want that a is there 0.4 more often", answer.Drift)
	}
}

func TestStatisticsThatCanNotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	good, bad := artifact(t, 10, 5, 5), write(t, []byte("no protocol buffer"))
	for want, q := range map[string]modelcheck.Question{
		"statistics: parse statistics":                       {Statistics: bad},
		"statistics: it has no Split-<name>/FeatureStats.pb": {Statistics: t.TempDir()},
		`before: split "train": parse statistics`:            {Drift: &modelcheck.Drift{Before: bad, After: good, Splits: []string{"train"}}},
		`now: split "train": parse statistics`:               {Drift: &modelcheck.Drift{Before: good, After: bad, Splits: []string{"train"}}},
		`before: split "eval": read statistics`:              {Drift: &modelcheck.Drift{Before: good, After: good, Splits: []string{"eval"}}},
	} {
		if answer, err := modelcheck.Do(t.Context(), q); err != nil || !strings.HasPrefix(answer.Refused, want) {
			t.Errorf("%+v, %v, want %q", answer, err, want)
		}
	}
}
