package savedmodel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

func TestAModelSaysWhatItsClassesAre(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	b.Output("logits", b.Dense("logits", b.Input("x", nn.Float32, 1), 2, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{nil, {"no", "yes\n\"<"}} {
		dir := filepath.Join(t.TempDir(), "model")
		m := Model{Graph: g, Spec: example.Spec{{Name: "x", Kind: example.Float, Shape: []int{1}}}, ClassNames: names}
		if err := Write(dir, m); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadClasses(dir); err != nil || !slices.Equal(got, names) {
			t.Errorf("classes %q, %v, want %q", got, err, names)
		}
	}
}

func TestClassesThatAreNoneAreAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "assets.extra", "classes.json")
	if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(`{"no": 1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadClasses(dir); err == nil || !strings.HasPrefix(err.Error(), "assets.extra/classes.json: ") {
		t.Errorf("error %v", err)
	}
}
