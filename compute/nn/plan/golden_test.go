package plan

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
)

var update = flag.Bool("update", false, "write testdata/ops.txt anew")

// Gorgonia does not export the types of its ops: a plan recognizes them by these names. If a new
// version has other names, this test fails, instead of plans becoming slow.
func TestGorgoniaCallsItsOpsAsBefore(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range sortedKeys(known) {
		w := write(t, 1, func(w *written) *gorgonia.Node { return w.weighted(known[name](w)) })
		for _, n := range w.g.AllNodes() {
			if n.Op() != nil {
				seen[fmt.Sprintf("%T %s", n.Op(), n.Op())] = true
			}
		}
	}
	got := strings.Join(slices.Sorted(maps.Keys(seen)), "\n") + "\n"
	const file = "testdata/ops.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("ops are\n%s\nexpected\n%s\n(-update writes them)", got, want)
	}
}
