package example_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
)

func ExampleOpen() {
	schema, err := example.ReadSchema("testdata/penguin/schema/schema.pbtxt")
	if err != nil {
		fmt.Println(err)
		return
	}
	spec, err := schema.Spec()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := example.Open(example.Options{
		Patterns:  []string{"testdata/penguin/examples/Split-eval/*"},
		Spec:      spec,
		BatchSize: 40,
		Epochs:    1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for {
		batch, err := r.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.Rows, "rows, the first:", batch.Column("body_mass_g").Floats[0], batch.Column("species").Ints[0])
	}
	// Output:
	// 40 rows, the first: 0.25694445 0
	// 40 rows, the first: 0.44444445 0
	// 20 rows, the first: 0.5555556 2
}

func ExampleBuilder() {
	var b example.Builder
	record := b.Float("fare", 12.5).String("company", "Blue Ribbon", "Flash").Int64("tract").Build()

	batch, err := example.Parse(example.Spec{
		{Name: "company", Kind: example.Bytes},
		{Name: "fare", Kind: example.Float, Shape: []int{1}},
		{Name: "tract", Kind: example.Int64},
	}, record)
	if err != nil {
		fmt.Println(err)
		return
	}
	company := batch.Column("company")
	for i := range company.Len() {
		fmt.Printf("%s\n", company.Bytes(i))
	}
	fmt.Println(batch.Column("fare").Floats, batch.Column("tract").Ints)
	// Output:
	// Blue Ribbon
	// Flash
	// [12.5] []
}

func ExampleSchema_Spec() {
	schema, err := example.ParseSchema("schema.pbtxt", strings.NewReader(`
		feature { name: "fare" type: FLOAT presence { min_fraction: 1.0 } shape { dim { size: 1 } } }
		feature { name: "company" type: BYTES string_domain { value: "Flash" value: "Blue Ribbon" } }`))
	if err != nil {
		fmt.Println(err)
		return
	}
	spec, err := schema.Spec()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range spec {
		fmt.Println(f.Name, f.Kind, f.Shape, f.VarLen(), f.Vocabulary)
	}
	// Output:
	// company string [] true [Flash Blue Ribbon]
	// fare float [1] false []
}

func ExampleSchema_Tensors() {
	schema, err := example.ParseSchema("schema.pbtxt", strings.NewReader(`
		feature { name: "place" type: INT int_domain { min: 0 max: 99 } }
		feature { name: "weight" type: FLOAT }
		feature { name: "company" type: BYTES }
		sparse_feature { name: "weights" index_feature { name: "place" } value_feature { name: "weight" } }`))
	if err != nil {
		fmt.Println(err)
		return
	}
	tensors, err := schema.Tensors()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range tensors {
		fmt.Println(t.Name, t.Layout, t.Kind, "of", t.Values, t.Indices, t.Shape)
	}
	// Output:
	// company VarLen string of company [] []
	// weights Sparse float of weight [place] [100]
}

func ExampleBuilder_Int64Steps() {
	var b example.Builder
	record := b.Int64("user", 7).Int64Steps("items", []int64{1, 2}, nil, []int64{3}).Build()

	batch, err := example.Parse(example.Spec{
		{Name: "items", Kind: example.Int64, Sequence: true},
		{Name: "user", Kind: example.Int64, Shape: []int{}},
	}, record)
	if err != nil {
		fmt.Println(err)
		return
	}
	items := batch.Column("items")
	fmt.Println(batch.Column("user").Ints, "steps of its row:", items.Offsets, "values of each step:", items.Inner, items.Ints)
	// Output:
	// [7] steps of its row: [0 3] values of each step: [0 2 2 3] [1 2 3]
}

func ExampleReadNumExamples() {
	n, err := example.ReadNumExamples("testdata/statistics/Split-train/FeatureStats.pb")
	fmt.Println(n, err)
	// Output: 10036 <nil>
}
