package savedmodel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
)

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v, want one that says %q", err, text)
	}
}

func TestSameModelGivesSameBytes(t *testing.T) {
	t.Parallel()
	var first map[string]string
	for i := range 5 {
		dir := filepath.Join(t.TempDir(), "model")
		if err := Write(dir, tower()); err != nil {
			t.Fatal(err)
		}
		files := filesIn(t, dir)
		if i == 0 {
			first = files
		}
		for name, content := range files {
			if first[name] != content {
				t.Errorf("write %d: %s differs from the first", i, name)
			}
		}
		if len(files) != 4 {
			t.Errorf("files %d, want saved_model.pb, its fingerprint and two of variables", len(files))
		}
	}
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[path[len(dir):]] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(full, "notes.txt")
	tests := []struct {
		name   string
		dir    string
		change func(*Model)
		want   string
	}{
		{"a folder that isn't empty", full, func(*Model) {}, "holds notes.txt"},
		{"a file in place of the folder", file, func(*Model) {}, "not a directory"},
		{"an input without a feature", "", func(m *Model) { m.Spec = m.Spec.Without("hour") }, `input "hour": no such feature`},
		{"an input of another kind", "", func(m *Model) { m.Spec[3].Kind = 2 }, `input "hour": takes int64, the feature is float`},
		{"an input of another width", "", func(m *Model) { m.Spec[1].Shape = []int{3} }, `input "areas": is 2 wide`},
		{"a graph without outputs", "", func(m *Model) { m.Graph.Outputs = nil }, "no outputs"},
		{"a name the root needs", "", func(m *Model) { rename(m.Graph, "miles/mean", "signatures/mean") }, `"signatures" can't be part`},
		{"a param below a param", "", func(m *Model) { rename(m.Graph, "miles/scale", "miles/mean/scale") }, "taken by another variable"},
		{"an unknown op", "", func(m *Model) { m.Graph.Nodes[0].Op = "Conv" }, `node "centred", Conv`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tt.dir
			if dir == "" {
				dir = filepath.Join(t.TempDir(), "model")
			}
			m := tower()
			tt.change(&m)
			wantError(t, Write(dir, m), tt.want)
			if _, err := os.Stat(filepath.Join(dir, "saved_model.pb")); err == nil {
				t.Error("a refused model has a saved_model.pb")
			}
		})
	}
}

func rename(g *nn.Graph, from, to string) {
	for i := range g.Params {
		if g.Params[i].Name == from {
			g.Params[i].Name = to
		}
	}
	for _, n := range g.Nodes {
		for i := range n.In {
			if n.In[i] == from {
				n.In[i] = to
			}
		}
	}
}
