package savedmodel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

const versionsScript = `
def check(input):
    examples = tf.constant([b64(e) for e in input["examples"]])
    models = [tf.saved_model.load(m) for m in input["models"]]
    return [flat(m.signatures["transform_features"](examples=examples)["company_xf"]) for m in models]
`

// The names of tables come from the directory that Transform ran in, so two versions of a graph may
// have tables of one name.
func TestVersionsOfAGraphKeepTheirVocabulariesInOneProcess(t *testing.T) {
	t.Parallel()
	c := readCorpus(t, "taxi", "tips", 200)
	older := writeTemp(t, c.model())

	graph := filepath.Join(t.TempDir(), "transform_graph")
	if err := os.CopyFS(graph, os.DirFS(c.graph)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vocab_compute_and_apply_vocabulary_vocabulary", "vocab_compute_and_apply_vocabulary_1_vocabulary"} {
		reverseLines(t, filepath.Join(graph, "transform_fn", "assets", name))
	}
	m := c.model()
	m.TransformGraph = graph
	newer := writeTemp(t, m)

	var got [][]tftest.Number
	tftest.Run(t, predictScript+versionsScript, map[string]any{"models": []string{older, newer}, "examples": c.raw}, &got)
	differ := 0
	for i := range got[0] {
		const companies = 45
		if id := got[0][i]; id < companies && id+got[1][i] != companies-1 {
			t.Fatalf("row %d: company %v in one version, %v in the other, whose vocabulary is reversed", i, id, got[1][i])
		}
		if got[0][i] != got[1][i] {
			differ++
		}
	}
	if differ == 0 {
		t.Error("both versions give the same: the test shows nothing")
	}
}

func reverseLines(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	slices.Reverse(lines)
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
