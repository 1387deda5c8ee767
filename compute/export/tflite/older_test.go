//go:build tfma

package tflite_test

import (
	_ "embed"
	"testing"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/older.py
var olderScript string

// A runtime of TensorFlow 2.16 answers as today's do, by the same tolerances. It knows no products
// in float32 with a scale for each column of int8 weights, and says so.
func TestOlderRuntimeAnswersAsInGo(t *testing.T) {
	t.Parallel()
	in := rows(333, 2)
	var calls []call
	var checks []func(map[string]answer)
	for _, m := range models(t) {
		want, err := nn.Eval(m.graph, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds() {
			if kind.o.Quantization == tflite.DynamicInt8 {
				continue
			}
			calls = append(calls, call{Model: written(t, m.graph, kind.o), Inputs: arrays(in)})
			checks = append(checks, func(got map[string]answer) {
				t.Run(m.name+", "+kind.name, func(t *testing.T) { checkClose(t, got, want, kind.tolerance) })
			})
		}
	}
	var answers []map[string]answer
	tftest.RunAnalysis(t, olderScript, calls, &answers)
	for i, got := range answers {
		checks[i](got)
	}
}
