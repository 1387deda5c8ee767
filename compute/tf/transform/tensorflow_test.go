package transform

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/rows.py
var rowsScript string

//go:embed testdata/golden.py
var goldenScript string

// checkScript makes rows by another seed than the golden ones, and has TensorFlow transform them.
const checkScript = `
def check(input):
    rows = nasty(input["seed"])
    answers = {name: golden(graph["folder"], graph["features"], rows) for name, graph in input["graphs"].items()}
    for answer in answers.values():
        for batch in answer["batches"]:
            if "error" in batch:
                batch["error"] = "an error"  # whose words are other ones each time
    return {"rows": [base64.b64encode(r).decode() for r in rows], "graphs": answers}
`

// Each of several seeds is a script of its own, so that none takes too long.
func TestOtherRowsAreTransformedAsByTensorFlow(t *testing.T) {
	t.Parallel()
	opened, folders := map[string]*Graph{}, map[string]any{}
	for _, name := range goldenNames(t, graphs) {
		dir := unpack(t, name)
		g, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		opened[name] = g
		folders[name] = map[string]any{"folder": dir, "features": readGolden(t, graphs, name).Features}
	}
	script := rowsScript + strings.ReplaceAll(goldenScript, "from rows import FEATURES\n", "") + checkScript
	for _, seed := range []int{3, 4} {
		var answer struct {
			Rows   [][]byte
			Graphs map[string]golden
		}
		tftest.Run(t, script, map[string]any{"seed": seed, "graphs": folders}, &answer)
		for name, want := range answer.Graphs {
			t.Run(name, func(t *testing.T) { compareGolden(t, name, opened[name], answer.Rows, want) })
		}
	}
}
