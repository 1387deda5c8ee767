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
