package warmstart

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// A feature that goes into a layer twice has two rows of the same words, and a layer that takes
// other features another time has none. Their weights are taken by position, and that is reported;
// of hidden units there is nothing to report.
func TestRowsThatCanNotBeDistinguishedAreReported(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	x, y := b.Input("x", nn.Float32, 1), b.Input("y", nn.Float32, 1)
	twice := b.Dense("twice", b.Concat("xx", x, x), 2, nn.OpRelu)
	first := b.Dense("shared", x, 2, "")
	b.Output("o", b.Dense("o", b.Add("sum", twice, first), 1, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	second := nn.Node{Name: "shared/again", Op: nn.OpMatMul, In: []string{y.Name, "shared/kernel"}}
	g.Nodes = append(g.Nodes, second)
	g.Outputs = append(g.Outputs, nn.Output{Name: "again", Node: second.Name, Width: 2})
	dir := t.TempDir()
	err = savedmodel.Write(dir, savedmodel.Model{Graph: g, Spec: example.Spec{
		{Name: "x", Kind: example.Float, Shape: []int{1}}, {Name: "y", Kind: example.Float, Shape: []int{1}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	table, err := StartFrom(dir, Network{Graph: g}, Rules{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range table.Params {
		want := ""
		if line.Name == "twice/kernel" || line.Name == "shared/kernel" {
			want = "rows as they stand: they can't be distinguished"
		}
		if line.Note != want || !line.Taken {
			t.Errorf("%s: taken %v, note %q, want %q", line.Name, line.Taken, line.Note, want)
		}
	}
	if strings.Count(table.String(), "rows as they stand") != 2 {
		t.Errorf("table\n%v", table)
	}
}
