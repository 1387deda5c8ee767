package python_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

// The last binding of a name in a module file counts, as in Python. ReadOutlines returns an Outline
// of each file.
func ExampleOutline_Binds() {
	outline := python.Outline{Names: []python.Binding{
		{Name: "run_fn", Line: 3, From: "trainer", Original: "run"},
		{Name: "run_fn", Line: 9, Function: true, Least: 1, Most: 1},
	}}
	last, bound := outline.Binds("run_fn")
	fmt.Println(bound, last.Line, last.Function)
	_, bound = outline.Binds("tuner_fn")
	fmt.Println(bound)
	// Output:
	// true 9 true
	// false
}
