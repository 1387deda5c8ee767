package quality

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// smallTable is a file of tables.py: an integer of two values, and a choice of three.
const smallTable = `{"name": "small", "source": "this test", "space": [` +
	`{"class_name": "Int", "config": {"name": "units", "default": null, "conditions": [], "min_value": 0, "max_value": 1, "step": 1, "sampling": "linear"}}, ` +
	`{"class_name": "Choice", "config": {"name": "op", "default": "a", "conditions": [], "values": ["a", "b", "c"], "ordered": false}}]}
0.5
0.25
0.75
1.0
2.0
4e-1
`

func tableFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "small.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestATableIsRead(t *testing.T) {
	t.Parallel()
	p, err := ReadProblem("small", tableFile(t, smallTable))
	if err != nil {
		t.Fatal(err)
	}
	// Exact: the median lies in the middle of 0.5 and 0.75.
	if p.Best != 0.25 || p.Median != 0.625 || p.Direction != tune.Min {
		t.Errorf("best %v, median %v, direction %s", p.Best, p.Median, p.Direction)
	}
	for _, point := range []struct {
		units int64
		op    string
		value float64
	}{{0, "a", 0.5}, {0, "c", 0.75}, {1, "a", 1}, {1, "c", 0.4}} {
		got, err := p.At(space.Values{{Name: "units", Of: point.units}, {Name: "op", Of: point.op}})
		if err != nil || got != point.value {
			t.Errorf("value of %v is %v, %v", point, got, err)
		}
	}
	for _, values := range []space.Values{
		{{Name: "units", Of: int64(2)}, {Name: "op", Of: "a"}}, {{Name: "units", Of: int64(0)}, {Name: "op", Of: "d"}}, {{Name: "op", Of: "a"}},
	} {
		if y, err := p.At(values); err == nil || !strings.Contains(err.Error(), "the table has no value") {
			t.Errorf("value of %v is %v, error %v", values, y, err)
		}
	}
	run, err := Search(p.Function, tune.Algorithm{Name: tune.Random}, 1, 6)
	if err != nil || run.After(6) != p.Best {
		t.Errorf("best of all six points is %v, %v", run.After(6), err)
	}
}

func TestABadTableIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	for says, text := range map[string]string{
		"small.jsonl:1: unexpected end":                   "",
		"small.jsonl:1: name: expected \"small\"":         strings.Replace(smallTable, "small", "other", 1),
		"small.jsonl:1: parameter units":                  strings.Replace(smallTable, `"min_value": 0`, `"min_value": -1`, 1),
		"small.jsonl:4: expected a finite number":         strings.Replace(smallTable, "0.75", "0.75x", 1),
		"small.jsonl:6: expected a finite number":         strings.Replace(smallTable, "2.0", "NaN", 1),
		"small.jsonl:6: expected 6 values, got 5":         strings.Replace(smallTable, "4e-1\n", "", 1),
		"small.jsonl:8: expected 6 values, got 7":         smallTable + "1\n",
		"small.jsonl:7: expected a finite number, got \"": strings.Replace(smallTable, "4e-1\n", "\n", 1),
	} {
		if _, err := ReadProblem("small", tableFile(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error is %v, expected %s", err, says)
		}
	}
	if _, err := ReadProblem("small", filepath.Join(t.TempDir(), "none.jsonl")); err == nil || !strings.Contains(err.Error(), "none.jsonl") {
		t.Errorf("error of a missing file is %v", err)
	}
}

func TestAFunctionOfTheSuiteHasNoValues(t *testing.T) {
	t.Parallel()
	header, _, _ := strings.Cut(smallTable, "\n")
	p, err := ReadProblem("small", tableFile(t, strings.TrimSuffix(header, "}")+`, "best": 3, "median": 4}`+"\n"))
	if err != nil || !p.served || p.Best != 3 || p.Median != 4 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := p.At(nil); err == nil || !strings.Contains(err.Error(), "served by tables.py") {
		t.Errorf("error is %v", err)
	}
}

// A table that is held back has a name of its own, and formulas have all that they need without a
// file.
func TestProblemsAreListed(t *testing.T) {
	t.Parallel()
	var names []string
	var formulas []Listed
	held := 0
	for _, l := range List() {
		names = append(names, l.Name)
		if l.HeldBack {
			held++
		}
		if l.Suite == Formulas {
			formulas = append(formulas, l)
		}
	}
	slices.Sort(names)
	if all := len(names); len(slices.Compact(names)) != all || held != 4 {
		t.Errorf("%d names of %d problems, %d held back", len(slices.Compact(names)), all, held)
	}
	problems, err := Problems(formulas, "")
	if err != nil || len(problems) != len(Known()) {
		t.Fatalf("%d problems, %v", len(problems), err)
	}
	for _, p := range problems {
		if p.Median <= p.Best {
			t.Errorf("%s: median %v, best %v", p.Name, p.Median, p.Best)
		}
	}
}
