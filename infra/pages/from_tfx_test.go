package pages_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// signatures are the arguments of TFX's components, as recorded in testdata/tfx.json.
type signatures struct {
	TFX            string
	Trainer, Tuner []string
}

func recorded(t *testing.T) (s signatures) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "testdata/tfx.json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	row    = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| \\S")
	blocks = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

func TestEveryArgumentOfTFXHasItsLine(t *testing.T) {
	t.Parallel()
	want, text := recorded(t), read(t, "from-tfx.md")
	for component, arguments := range map[string][]string{"Trainer": want.Trainer, "Tuner": want.Tuner} {
		_, section, _ := strings.Cut(text, "\n## "+component+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var got []string
		for _, match := range row.FindAllStringSubmatch(section, -1) {
			got = append(got, match[1])
		}
		slices.Sort(got)
		slices.Sort(arguments)
		if len(arguments) == 0 || !slices.Equal(got, arguments) {
			t.Errorf("%s: the page has %v, TFX %s has %v", component, got, want.TFX, arguments)
		}
	}
}

func TestThePagesPipelinesAreValid(t *testing.T) {
	t.Parallel()
	found := blocks.FindAllStringSubmatch(read(t, "from-tfx.md"), -1)
	if len(found) < 2 {
		t.Fatalf("%d pipelines", len(found))
	}
	for _, block := range found {
		if _, err := pipeline.Parse("from-tfx.md", []byte(block[1])); err != nil {
			t.Error(err)
		}
	}
}

// What the page says of the first file is what the file means.
func TestThePagesFirstPipelineSaysWhatTheCallSays(t *testing.T) {
	t.Parallel()
	p, err := pipeline.Parse("from-tfx.md", []byte(blocks.FindStringSubmatch(read(t, "from-tfx.md"))[1]))
	if err != nil {
		t.Fatal(err)
	}
	if p.Module.Path != "./penguin_utils.py" || !p.Tunes() || p.Search().TuneArgs.NumParallelTrials != 4 || p.Search().CustomConfig["label"] != "species" ||
		!slices.Equal(p.Trainer.TrainArgs.Splits, []string{"train"}) || p.Trainer.BaseModel != pipeline.BaseModelLatest {
		t.Errorf("got %+v", p)
	}
}
