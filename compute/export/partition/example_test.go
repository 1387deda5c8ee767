package partition_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/nn"
)

// A format without strings gets the part of a model behind the look-up of its vocabulary. The new
// input says how its ids are computed.
func ExampleGraph() {
	b := nn.NewBuilder(nn.NewRand(1))
	town := b.Vocabulary("town/id", b.Input("town", nn.String, 1), []string{"Zug", "Bern"})
	b.Output("score", b.Dense("dense", b.OneHot("town/one_hot", town, 3), 1, ""))
	whole, err := b.Graph()
	if err != nil {
		fmt.Println(err)
		return
	}
	rest, inputs, err := partition.Graph(whole, func(op nn.Op) bool { return op != nn.OpVocab })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(whole.Nodes), "nodes, then", len(rest.Nodes))
	for _, in := range inputs {
		fmt.Println(in.Name, in.Type, "from", in.ComputedFrom.Feature, in.ComputedFrom.Vocabulary, "unknown:", in.ComputedFrom.Unknown)
	}
	// Output:
	// 4 nodes, then 3
	// town/id int64 from town [Zug Bern] unknown: 2
}
