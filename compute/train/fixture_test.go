package train_test

import (
	"context"
	"io"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/train"
)

// spiral is a source of rows whose class is the nearest of three rays.
type spiral struct {
	batches int // number left; negative: no end
	rows    int
	next    float64
	before  func(batch int) // called before each batch
	given   int
}

func (s *spiral) Next(ctx context.Context) (nn.Batch, error) {
	if s.before != nil {
		s.before(s.given)
	}
	if ctx.Err() != nil {
		return nn.Batch{}, ctx.Err()
	}
	if s.batches == 0 {
		return nn.Batch{}, io.EOF
	}
	s.batches--
	s.given++
	b := nn.Batch{Rows: s.rows}
	var x []float32
	for range s.rows {
		s.next += 2.399963 // the golden angle spreads rows evenly
		turn := math.Mod(s.next, 2*math.Pi)
		x = append(x, float32(math.Cos(turn)), float32(math.Sin(turn)))
		target := make([]float32, 3)
		target[int(turn/(2*math.Pi)*3)] = 1
		b.Targets = append(b.Targets, target...)
	}
	b.Inputs = map[string]nn.Value{"x": nn.Floats(2, x...)}
	return b, nil
}

// build makes a model of layers, with the same initial weights each time.
func build(t testing.TB, loss nn.Loss, layers func(b *nn.Builder) (logits nn.Ref)) *nn.Model {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	logits := layers(b)
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, logits.Name, loss)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// model has two numbers as inputs, like endless.
func model(t testing.TB, loss nn.Loss, width int) *nn.Model {
	t.Helper()
	return build(t, loss, func(b *nn.Builder) nn.Ref {
		return b.Dense("logits", b.Dense("hidden", b.Input("x", nn.Float32, 2), 8, nn.OpTanh), width, "")
	})
}

func options(steps int) train.Options {
	adam, err := optim.New("adam", 0.01)
	if err != nil {
		panic(err)
	}
	return train.Options{Steps: steps, BatchSize: 4, Optimizer: adam}
}

func endless() *spiral { return &spiral{batches: -1, rows: 4} }
