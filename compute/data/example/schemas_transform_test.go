//go:build transform

package example_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

var (
	update     = flag.Bool("update", false, "write tf.Transform's answers to testdata/schemas.json")
	schemaSeed = flag.Uint64("schema-seed", rand.Uint64(), "of the schemas that are made anew")
)

// askTransform returns tf.Transform's results for schemas today.
func askTransform(t *testing.T, schemas []string) []byte {
	t.Helper()
	in, err := json.Marshal(schemas)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tftest.Python(t), "testdata/schemas.py")
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=3", "PYTHONDONTWRITEBYTECODE=1")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("schemas.py: %v: %s", err, stderr.Bytes())
	}
	return out
}

func TestAnswersOfTransformAreCurrent(t *testing.T) {
	t.Parallel()
	schemas := corpusSchemas(t)
	for seed := range uint64(150) {
		schemas = append(schemas, randomSchema(seed))
	}
	answers := askTransform(t, schemas)
	if *update {
		if err := os.WriteFile("testdata/schemas.json", answers, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	now, kept := decodeAnswers(t, answers), decodeAnswers(t, golden)
	if len(now) != len(kept) {
		t.Fatalf("%d answers of tf.Transform, %d are kept: run with -update to keep them", len(now), len(kept))
	}
	for i := range now {
		equal(t, "an answer of tf.Transform (run with -update to keep it)", classless(now[i]), classless(kept[i]))
	}
}

// classless removes the class of an error: for a schema with two faults tf.Transform, which
// iterates over a map, reports either.
func classless(answer tftSchema) tftSchema {
	if answer.Error != "" {
		answer.Error = "refused"
	}
	return answer
}

// corpusSchemas returns those that TFX wrote.
func corpusSchemas(t *testing.T) (schemas []string) {
	t.Helper()
	for _, name := range []string{"penguin/schema", "penguin/transformed_metadata", "taxi/schema", "taxi/transformed_metadata"} {
		text, err := os.ReadFile("testdata/" + name + "/schema.pbtxt")
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, string(text))
	}
	return schemas
}

func TestOtherSchemasAreReadAsTransformDoes(t *testing.T) {
	t.Parallel()
	t.Logf("-schema-seed %d", *schemaSeed)
	var schemas []string
	for i := range uint64(500) {
		schemas = append(schemas, randomSchema(*schemaSeed+i))
	}
	compareWithTransform(t, decodeAnswers(t, askTransform(t, schemas)))
}
