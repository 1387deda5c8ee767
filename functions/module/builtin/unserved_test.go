package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// Transformed examples can be used without reading the graph: that it can't be served is an error
// before training begins.
func TestWhatCannotBeServedIsNotTrained(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, penguin())
	graph := filepath.Join(t.TempDir(), "transform_graph")
	if err := os.CopyFS(graph, os.DirFS(a.TransformGraphPath)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(graph, "transform_fn", "saved_model.pb"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a.TransformGraphPath = graph
	err := builtin.Run(t.Context(), "dnn", a, func(m module.Message) { t.Errorf("reported %+v", m) })
	if err == nil || !strings.Contains(err.Error(), "as a SavedModel: transform graph "+graph) {
		t.Errorf("error is %v", err)
	}
}
