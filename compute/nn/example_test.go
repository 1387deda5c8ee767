package nn_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
)

// An Evaluator computes batch after batch, and keeps nodes that are not outputs too.
func ExampleEvaluator() {
	g := &nn.Graph{
		Inputs: []nn.Input{{Name: "x", Width: 2}},
		Nodes: []nn.Node{
			{Name: "product", Op: nn.OpMatMul, In: []string{"x", "kernel"}},
			{Name: "y", Op: nn.OpRelu, In: []string{"product"}},
		},
		Params:  []nn.Param{{Name: "kernel", Shape: []int{2, 1}, Values: []float32{1, -1}}},
		Outputs: []nn.Output{{Name: "y", Node: "y", Width: 1}},
	}
	e, err := nn.NewEvaluator(g, "product", "y")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, batch := range []nn.Value{nn.Floats(2, 3, 1, 1, 3), nn.Floats(2, 0.5, 0)} {
		if err := e.Run(map[string]nn.Value{"x": batch}); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Rows(), "rows:", e.Value("product").Floats, e.Value("y").Floats)
	}
	// Output:
	// 2 rows: [2 -2] [2 0]
	// 1 rows: [0.5] [0.5]
}

// The mistake in a network is reported once, by Graph.
func ExampleBuilder_Graph() {
	b := nn.NewBuilder(nn.NewRand(1))
	hidden := b.Dense("hidden", b.Input("town", nn.String, 1), 8, nn.OpRelu)
	b.Output("logits", b.Dense("logits", hidden, 2, ""))
	_, err := b.Graph()
	fmt.Println(err)
	// Output: build graph: node "hidden/MatMul", MatMul: operand "town" is string[b,1], expected float32
}

// Words become trained vectors: each has the index of its row in the table, and all unknown words
// share one.
func ExampleBuilder_Embedding() {
	b := nn.NewBuilder(nn.NewRand(1))
	id := b.Vocabulary("word/id", b.Input("word", nn.String, 1), []string{"good", "bad"})
	b.Output("vector", b.Embedding("word/embedding", id, 3, 4))
	g, err := b.Graph()
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := nn.Eval(g, map[string]nn.Value{"word": nn.Strings(1, "good", "odd", "strange")})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := out["vector"].Floats
	fmt.Println(g.Params[0].Name, g.Params[0].Shape)
	fmt.Println("unknown words are equal:", v[4] == v[8], "known ones are not:", v[0] != v[4])
	// Output:
	// word/embedding/embeddings [3 4]
	// unknown words are equal: true known ones are not: true
}

// A dense layer has the defaults of Keras, unless options say otherwise.
func ExampleBuilder_DenseWith() {
	b := nn.NewBuilder(nn.NewRand(1))
	x := b.Input("x", nn.Float32, 4)
	h := b.DenseWith("hidden", x, 8, nn.DenseOptions{Activation: nn.OpTanh, NoBias: true})
	b.Output("y", b.Dense("y", h, 1, ""))
	g, err := b.Graph()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range g.Params {
		fmt.Println(p.Name, p.Shape)
	}
	// Output:
	// hidden/kernel [4 8]
	// y/kernel [8 1]
	// y/bias [1]
}

// Trainable params are moved into one slice, which an optimizer changes in place.
func ExampleNewModel() {
	b := nn.NewBuilder(nn.NewRand(1))
	logits := b.Dense("logits", b.Input("x", nn.Float32, 2), 3, "")
	b.Output("probabilities", nn.SoftmaxCrossEntropy{}.Predict(b, "probabilities", logits))
	g, err := b.Graph()
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := nn.NewModel(g, logits.Name, nn.SoftmaxCrossEntropy{})
	if err != nil {
		fmt.Println(err)
		return
	}
	clear(m.Weights())
	out, err := nn.Eval(g, map[string]nn.Value{"x": nn.Floats(2, 1, 2)})
	fmt.Printf("%d weights; %.3f, error %v\n", len(m.Weights()), out["probabilities"].Floats, err)
	// Output: 9 weights; [0.333 0.333 0.333], error <nil>
}

func ExampleLossNamed() {
	loss, err := nn.LossNamed("mean_absolute_error")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loss.Row([]float32{1, 5}, []float32{2, 2})) // (|1-2| + |5-2|) / 2
	// Output: 2
}
