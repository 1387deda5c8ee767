package transform_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

func ExampleOpen() {
	graph, err := transform.Open("../savedmodel/testdata/penguin/transform_graph")
	if err != nil {
		fmt.Println(err)
		return
	}
	var b example.Builder
	record := b.Float("body_mass_g", 0.25).Float("culmen_depth_mm", 0.6).Float("culmen_length_mm", 0.3).
		Float("flipper_length_mm", 0.2).Int64("species", 2).Build()
	raw, err := example.Parse(graph.Raw(), record)
	if err != nil {
		fmt.Println(err)
		return
	}
	transformed, err := graph.Run(raw, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(transformed.Column("body_mass_g_xf").Floats, transformed.Column("species_xf").Ints)
	// Output:
	// [-0.75609344] [2]
}
