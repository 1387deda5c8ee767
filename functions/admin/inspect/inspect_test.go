package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/admin/inspect"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

var update = flag.Bool("update", false, "write what is printed now to testdata/golden")

// artifacts are real ones, written by TFX, KerasTuner and TensorFlow Metadata.
var artifacts = map[string]string{
	"penguin-examples":        "../../../compute/data/example/testdata/penguin/examples",
	"penguin-transformed":     "../../../compute/data/example/testdata/penguin/transformed_examples",
	"taxi-examples":           "../../../compute/data/example/testdata/taxi/examples",
	"taxi-schema":             "../../../compute/data/example/testdata/taxi/schema",
	"penguin-transform-graph": "../../../compute/tf/savedmodel/testdata/penguin/transform_graph",
	"taxi-transform-graph":    "../../../compute/tf/savedmodel/testdata/taxi/transform_graph",
	"penguin-saved-model":     "../../../compute/tf/savedmodel/testdata/penguin/model",
	"penguin-checkpoint":      "../../../compute/tf/savedmodel/testdata/penguin/model/variables",
	"penguin-model-run":       "../../../compute/tfevents/testdata/penguin/model_run",
	"statistics":              "testdata/statistics",
	"best-hyperparameters":    "testdata/best_hyperparameters",
	"tuner-results":           "testdata/tuner_results",
	"folder":                  "../../../local/demo/data",
}

func look(t testing.TB, place string, o inspect.Options) *inspect.Report {
	t.Helper()
	source, err := inspect.Local(place)
	if err != nil {
		t.Fatal(err)
	}
	report, err := inspect.Inspect(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func printed(r *inspect.Report) string {
	var out bytes.Buffer
	r.Print(&out)
	return out.String()
}

func TestWhatIsPrinted(t *testing.T) {
	t.Parallel()
	for name, place := range artifacts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := printed(look(t, place, inspect.Options{Rows: 3}))
			golden := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s: want - got +\n%s", golden, diff)
			}
		})
	}
}

// A store gives the same results as the local disk, for whole artifacts and for single files.
func TestAStoreIsLookedAtLikeAFolder(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory("artifacts")
	for name, place := range artifacts {
		put(t, store, name, place)
	}
	compare := func(t *testing.T, key, place string) {
		ref := storage.Ref{Bucket: "artifacts", Key: key}
		scratch := t.TempDir()
		source, err := inspect.Stored(t.Context(), store, ref, scratch)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := inspect.Inspect(t.Context(), source, inspect.Options{Rows: 1, Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if want := "s3://artifacts/" + key; stored.Path != want {
			t.Errorf("path %s, want %s", stored.Path, want)
		}
		local := look(t, place, inspect.Options{Rows: 1, Limit: 1 << 20})
		local.Path = stored.Path
		if diff := cmp.Diff(asJSON(t, local), asJSON(t, stored)); diff != "" {
			t.Errorf("local - stored +\n%s", diff)
		}
	}
	for name, place := range artifacts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, name, place)
		})
	}
	for _, file := range []string{
		"penguin-examples/Split-eval/data_tfrecord-00000-of-00001.gz", "taxi-schema/schema.pbtxt",
		"penguin-checkpoint/variables.index", "tuner-results/tuner_results.json", "statistics/Split-train/FeatureStats.pb",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			name, rest, _ := strings.Cut(file, "/")
			compare(t, file, filepath.Join(artifacts[name], rest))
		})
	}
}

func put(t testing.TB, store storage.Store, key, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		_, err = storage.PutFile(t.Context(), store, storage.Ref{Bucket: "artifacts", Key: key}.Join(filepath.ToSlash(rel)), path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func asJSON(t testing.TB, r *inspect.Report) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// counted is a store that counts the bytes that are read from it.
type counted struct {
	storage.Store
	bytes *int64
}

func (c counted) Open(ctx context.Context, ref storage.Ref, etag string) (io.ReadCloser, storage.Object, error) {
	r, o, err := c.Store.Open(ctx, ref, etag)
	return counting{r, c.bytes}, o, err
}

type counting struct {
	io.ReadCloser
	bytes *int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	*c.bytes += int64(n)
	return n, err
}

// Of 231 KiB of records 64 KiB are read: the count says that there are more. The first 4 KiB show
// what a file is.
func TestACountStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	memory := storagetest.NewMemory("artifacts")
	put(t, memory, "taxi", artifacts["taxi-examples"])
	var bytes int64
	source, err := inspect.Stored(t.Context(), counted{memory, &bytes}, storage.Ref{Bucket: "artifacts", Key: "taxi"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const limit = 64 << 10
	report, err := inspect.Inspect(t.Context(), source, inspect.Options{Rows: 2, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	split := report.Examples.Splits[0]
	if split.Complete || split.Records < 100 || split.Records >= 4966 || split.Read != limit || bytes > limit+4096 {
		t.Errorf("%d records, complete: %v, %d bytes read, %d from the store", split.Records, split.Complete, split.Read, bytes)
	}
	if text := printed(report); !strings.Contains(text, "or more") || !strings.Contains(text, "--limit 0 reads all") {
		t.Errorf("printed:\n%s", text)
	}
}

func TestEventsStopAtTheLimit(t *testing.T) {
	t.Parallel()
	// All 5519 bytes of train, and 81 of validation.
	r := look(t, artifacts["penguin-model-run"], inspect.Options{Limit: 5600})
	if r.Events.Complete || len(r.Events.Runs) != 2 || len(r.Events.Runs[0].Tags) != 4 || len(r.Events.Runs[1].Tags) != 0 {
		t.Errorf("events: %+v", r.Events)
	}
	if out := printed(r); !strings.Contains(out, "the first 5.5 KiB of events, then --limit was reached") {
		t.Errorf("printed:\n%s", out)
	}
}

func TestNothingLargerThanTheLimitIsCopied(t *testing.T) {
	t.Parallel()
	memory := storagetest.NewMemory("artifacts")
	put(t, memory, "model", artifacts["penguin-saved-model"])
	put(t, memory, "graph", artifacts["taxi-transform-graph"])
	inspectStored := func(key string) (*inspect.Report, error) {
		source, err := inspect.Stored(t.Context(), memory, storage.Ref{Bucket: "artifacts", Key: key}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return inspect.Inspect(t.Context(), source, inspect.Options{Limit: 1000})
	}
	_, err := inspectStored("model")
	if large, ok := errors.AsType[*inspect.TooLargeError](err); !ok || large.Limit != 1000 || !strings.Contains(err.Error(), "--limit") {
		t.Errorf("error is %v, expected one that names the limit", err)
	}
	report, err := inspectStored("graph")
	if err != nil {
		t.Fatal(err)
	}
	g := report.TransformGraph
	if g.Executable || !strings.Contains(g.Why, "not tried") || len(g.Inputs) != 18 || g.Vocabularies[0].Words != -1 {
		t.Errorf("graph: executable %v, because %q, %d inputs", g.Executable, g.Why, len(g.Inputs))
	}
}

func TestWhatIsNoArtifactIsRefusedByWhatWasExpected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gzip, err := os.ReadFile(filepath.Join(artifacts["penguin-examples"], "Split-eval", "data_tfrecord-00000-of-00001.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		write("notes.txt", "hello"):                                       "expected Examples (Split-<name>/",
		filepath.Dir(write("empty/x", "")):                                "expected Examples",
		filepath.Dir(filepath.Dir(write("pq/Split-a/f", "PAR1........"))): "record 0 of f, at byte 0: checksum of the length does not match: a Parquet",
		write("m.keras", "PK\x03\x04...."):                                "inspect " + dir + "/m.keras: m.keras is a zip file in Keras's own format, which is not supported: load",
		write("m.h5", "\x89HDF\r\n\x1a\n...."):                            "m.h5 is HDF5, which is not supported: load",
		filepath.Dir(write("saved/m.weights.h5", "\x89HDF\r\n\x1a\n.")):   "m.weights.h5 is HDF5",
		write("cut.gz", string(gzip[:1000])):                              "cut.gz",
		write("best_hyperparameters.txt", "{}"):                           "expected an object with space and values",
		write("schema.pbtxt", "feature { name: }"):                        "schema.pbtxt",
		write("x.index", strings.Repeat("x", 100)):                        "x",
		write("m.tflite", "1234TFL3"):                                     "m.tflite: is no TFLite model: ",
		write("FeatureStats.pb", "\x08"):                                  "FeatureStats.pb",
	} {
		source, err := inspect.Local(place)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inspect.Inspect(t.Context(), source, inspect.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, expected %q in it", place, err, want)
		}
	}
	if _, err := inspect.Local(filepath.Join(dir, "nowhere")); !errors.Is(err, inspect.ErrNothing) {
		t.Errorf("error is %v", err)
	}
}

func TestASplitThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	source, err := inspect.Local(artifacts["penguin-examples"])
	if err != nil {
		t.Fatal(err)
	}
	_, err = inspect.Inspect(t.Context(), source, inspect.Options{Split: "test"})
	if err == nil || !strings.Contains(err.Error(), `split "test": expected one of eval, train`) {
		t.Errorf("error is %v", err)
	}
}
