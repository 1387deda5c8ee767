package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

// rawWithAGraph returns an assignment whose examples are not yet transformed.
func rawWithAGraph(t *testing.T, data string, config map[string]any) module.Assignment {
	t.Helper()
	a := assignment(t, data, false, config)
	a.TransformGraphPath = abs(t, graphs, data, "transform_graph")
	return a
}

// Raw examples with a transform graph give the same model as the transformed examples, bit for bit:
// weights, metrics and predictions of evaluation rows.
func TestRawExamplesWithAGraphTrainTheSameModel(t *testing.T) {
	t.Parallel()
	for data, label := range map[string]string{"penguin": "species", "taxi": "tips"} {
		t.Run(data, func(t *testing.T) {
			t.Parallel()
			config := map[string]any{"label": label}
			var made []map[string]string
			for _, a := range []module.Assignment{assignment(t, data, true, config), rawWithAGraph(t, data, config)} {
				dir := t.TempDir()
				a.Predictions = &module.Predictions{Path: filepath.Join(dir, "predictions"), Rows: 300, LabelsPath: filepath.Join(dir, "labels")}
				run(t, "dnn", a)
				files := map[string]string{}
				for _, name := range []string{
					a.Predictions.Path, a.Predictions.LabelsPath, filepath.Join(a.ModelRunDir, "metrics.json"),
					filepath.Join(a.ServingModelDir, "saved_model.pb"), filepath.Join(a.ServingModelDir, "variables", "variables.data-00000-of-00001"),
				} {
					text, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					files[filepath.Base(name)] = string(text)
				}
				made = append(made, files)
			}
			for name, want := range made[0] {
				if made[1][name] != want {
					t.Errorf("%s differs", name)
				}
			}
			if lines := strings.Count(made[0]["predictions"], "\n"); lines != map[string]int{"penguin": 100, "taxi": 300}[data] {
				t.Errorf("%d predictions", lines)
			}
			if want := `["` + label + `_xf","` + label + `"]`; made[0]["labels"] != want {
				t.Errorf("labels %s, want %s", made[0]["labels"], want)
			}
		})
	}
}

// An op that Go can't execute is reported before any row is read.
func TestAGraphThatGoCanNotExecuteIsNamed(t *testing.T) {
	t.Parallel()
	a := rawWithAGraph(t, "penguin", penguin())
	graph := filepath.Join(t.TempDir(), "transform_graph")
	if err := os.CopyFS(graph, os.DirFS(a.TransformGraphPath)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(graph, "transform_fn", "saved_model.pb")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), "\x04Sqrt", "\x04Sqrx")), 0o600); err != nil {
		t.Fatal(err)
	}
	a.TransformGraphPath, a.TrainFiles = graph, []string{"/nowhere/*"}
	err = fail(t, "dnn", a)
	for _, want := range []string{"op Sqrx is not known", `transformed feature "body_mass_g_xf"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
