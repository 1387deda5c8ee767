package lineage_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runs/lineage"
)

// Names come from outside: a run may have any name. None may end a string of Graphviz's, or begin a
// statement.
func TestDotQuotesWhateverThingsAreCalled(t *testing.T) {
	t.Parallel()
	const evil = "a\"]; b [label=\"c\\\nd"
	g := lineage.Graph{Target: "m", Nodes: []lineage.Node{
		{ID: "m", Kind: lineage.Model, Name: evil, Digest: "sha256:00112233445566778899", State: lineage.Same},
		{ID: "i", Kind: lineage.TransformGraph, Name: "graph", URI: evil, State: lineage.Gone},
	}, Edges: []lineage.Edge{{From: "i", To: "m", Role: lineage.TransformGraph}}}
	const want = "digraph lineage {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n" +
		`  "m" [label="model\na\"]; b [label=\"c\\\nd\nsha256:001122334455", tooltip=""];` + "\n" +
		`  "i" [label="transform graph\ngraph\n", tooltip="a\"]; b [label=\"c\\\nd", color=red];` + "\n" +
		`  "i" -> "m" [label="transform graph"];` + "\n}\n"
	if got := g.Dot(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func command(words ...string) string { return "here/stoker " + strings.Join(words, " ") }

// The inputs of a node with two consumers are printed at the first one, and referred to after that.
func TestATreeRepeatsNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	first, _ := w.trained("monday", 0xa1, w.input)
	second, _ := w.trained("tuesday", 0xa2, w.input, first)
	w.trained("wednesday", 0xa3, w.input, first, second)
	tree := w.of("penguin", nil).Tree(command)
	if strings.Count(tree, "base model  monday") != 2 || strings.Count(tree, "as above") != 1 || !strings.HasPrefix(tree, "model  wednesday  sha256:") {
		t.Errorf("%s", tree)
	}
}

// The hints are commands for the caller's installation: the data directory is among their flags.
func TestATreeHintsAtCommandsOfTheCaller(t *testing.T) {
	t.Parallel()
	g := lineage.Graph{Target: "m", Nodes: []lineage.Node{{
		ID: "m", Kind: lineage.Model, Name: "monday", Pipeline: "penguin", Run: "monday", Revision: 7,
		Configuration: json.RawMessage(`{"seed":1}`), Settings: json.RawMessage(`{"batch_size":32}`),
	}}}
	tree := g.Tree(command)
	for _, hint := range []string{"`here/stoker pipelines show penguin --revision 7`", "`here/stoker runs show monday --pipeline penguin`"} {
		if !strings.Contains(tree, hint) {
			t.Errorf("no %s in\n%s", hint, tree)
		}
	}
}
