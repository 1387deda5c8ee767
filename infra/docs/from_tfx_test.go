package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/pipeline/tfxdsl"
	"github.com/stoker-ml/stoker/functions/runner"
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

// prelude defines the names that the page's calls use.
const prelude = `
from tfx import v1 as tfx
from tfx.components import SchemaGen, Trainer, Transform, Tuner
from tfx.proto import trainer_pb2, tuner_pb2
transform, schema_gen = Transform(), SchemaGen()
latest_model = tfx.dsl.Resolver(strategy_class=tfx.dsl.experimental.LatestArtifactStrategy)
tfx.dsl.Pipeline(pipeline_name="penguin")
`

// stoker from-tfx makes the page's first file of the page's calls of TFX.
func TestThePagesCallsAreThePagesFirstPipeline(t *testing.T) {
	t.Parallel()
	text := read(t, "from-tfx.md")
	_, calls, _ := strings.Cut(text, "```python\n")
	calls, _, _ = strings.Cut(calls, "```")
	file := filepath.Join(t.TempDir(), "pipeline.py")
	if err := os.WriteFile(file, []byte(prelude+calls), 0o644); err != nil {
		t.Fatal(err)
	}
	recorded, err := tfxdsl.Record(t.Context(), file, tfxdsl.Options{Python: tftest.Python3(t), Timeout: 5 * time.Minute, Run: func(cmd *exec.Cmd) error { return runner.RunConfined(cmd, nil) }})
	if err != nil {
		t.Fatal(err)
	}
	made, err := recorded.Pipeline()
	if err != nil {
		t.Fatal(err)
	}
	got, err := pipeline.Parse("made", made)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pipeline.Parse("from-tfx.md", []byte(strings.Replace(blocks.FindStringSubmatch(text)[1], "./penguin_utils.py", "penguin_utils.py", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-the page's file +made of the page's calls\n%s", diff)
	}
}

// The page's statements about the first file are true of it.
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
