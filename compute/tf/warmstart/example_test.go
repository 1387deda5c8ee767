package warmstart_test

import (
	"fmt"
	"log"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
)

// A new network for penguins starts from the model that TFX's Trainer made of them, except for its
// last layer.
func Example() {
	b := nn.NewBuilder(nn.NewRand(1))
	length, depth := b.Input("culmen_length_mm_xf", nn.Float32, 1), b.Input("culmen_depth_mm_xf", nn.Float32, 1)
	wings, mass := b.Input("flipper_length_mm_xf", nn.Float32, 1), b.Input("body_mass_g_xf", nn.Float32, 1)
	hidden := b.Dense("dense_1", b.Concat("features", mass, depth, length, wings), 8, nn.OpRelu)
	b.Output("logits", b.Dense("logits", hidden, 3, ""))
	g, err := b.Graph()
	if err != nil {
		log.Fatal(err)
	}
	from, err := warmstart.Open("testdata/penguin/model")
	if err != nil {
		log.Fatal(err)
	}
	table, err := warmstart.Start(g.Params, warmstart.GraphRows(g, nil), from, warmstart.Rules{Except: "^logits/"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(table)
	// Output:
	// param           shape  taken from      shape  how
	// dense_1/kernel  [4 8]  dense_4/kernel  [4 8]  by order; 4 rows by what they stand for
	// dense_1/bias    [8]    dense_4/bias    [8]    by order
	// logits/kernel   [8 3]  -               -      not taken: except leaves it out
	// logits/bias     [3]    -               -      not taken: except leaves it out
	// -               -      dense_5/kernel  [8 3]  left
	// -               -      dense_5/bias    [3]    left
}
