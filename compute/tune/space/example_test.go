package space_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// One parameter of the space is active only for one family of models. A trial's values are drawn
// from a stream of its own, and written as KerasTuner writes them.
func Example() {
	s := space.Space{
		{Name: "learning_rate", Kind: space.Float, Min: 1e-5, Max: 0.1, Sampling: space.Log},
		{Name: "model", Kind: space.Choice, Choices: []any{"mlp", "cnn"}},
		{Name: "filters", Kind: space.Int, Min: 8, Max: 64, Step: 8, Conditions: []space.Condition{{Parent: "model", Values: []any{"cnn"}}}},
	}
	if err := s.Check(); err != nil {
		fmt.Println(err)
		return
	}
	stream := space.NewStream(7, 0)
	drawn := s.Fill(func(p space.Parameter) any { return p.At(stream.Float64(p.Name, 0)) })
	fmt.Println(len(drawn), "values of trial 0")

	text, err := s[:1].Encode(s[:1].Defaults())
	fmt.Println(string(text), err)
	// Output:
	// 2 values of trial 0
	// {"space": [{"class_name": "Float", "config": {"name": "learning_rate", "default": 1e-05, "conditions": [], "min_value": 1e-05, "max_value": 0.1, "step": null, "sampling": "log"}}], "values": {"learning_rate": 1e-05}} <nil>
}

// A place in [0, 1] becomes a value on the parameter's scale, and back.
func ExampleParameter_At() {
	rate := space.Parameter{Name: "learning_rate", Kind: space.Float, Min: 0.0001, Max: 1, Sampling: space.Log}
	units := space.Parameter{Name: "units", Kind: space.Int, Min: 16, Max: 64, Step: 16}
	for _, place := range []float64{0, 0.5, 1} {
		fmt.Printf("%.4f %d\n", rate.At(place), units.At(place))
	}
	fmt.Println(units.Place(int64(32)))
	// Output:
	// 0.0001 16
	// 0.0100 48
	// 1.0000 64
	// 0.375
}

// The best hyperparameters that KerasTuner wrote are read.
func ExampleDecode() {
	s, values, err := space.Decode([]byte(`{"space": [{"class_name": "Int", "config": {"name": "units", "default": null,
		"conditions": [], "min_value": 16, "max_value": 64, "step": 16, "sampling": "linear"}}], "values": {"units": 48}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	units, _ := values.Lookup("units")
	fmt.Println(s[0].Name, s[0].List(), "chosen:", units)
	// Output: units [16 32 48 64] chosen: 48
}

// A grid search tries every point. The child has values only where its parent is active.
func ExampleSpace_Points() {
	s := space.Space{
		{Name: "model", Kind: space.Choice, Choices: []any{"mlp", "cnn"}},
		{Name: "filters", Kind: space.Int, Min: 8, Max: 16, Step: 8, Conditions: []space.Condition{{Parent: "model", Values: []any{"cnn"}}}},
	}
	fmt.Println(s.Size(), "points")
	for values := range s.Points() {
		fmt.Println(values.Map())
	}
	// Output:
	// 3 points
	// map[model:mlp]
	// map[filters:8 model:cnn]
	// map[filters:16 model:cnn]
}

// Values that a user gives are completed by defaults. Those of inactive parameters are left out.
func ExampleSpace_Complete() {
	s := space.Space{
		{Name: "dropout", Kind: space.Boolean},
		{Name: "rate", Kind: space.Float, Min: 0.1, Max: 0.5, Conditions: []space.Condition{{Parent: "dropout", Values: []any{true}}}},
		{Name: "units", Kind: space.Int, Min: 8, Max: 64, Default: int64(32)},
	}
	fmt.Println(s.Complete(space.Values{{Name: "rate", Of: 0.2}}).Map())
	fmt.Println(s.Complete(space.Values{{Name: "dropout", Of: true}}).Map())
	// Output:
	// map[dropout:false units:32]
	// map[dropout:true rate:0.1 units:32]
}
