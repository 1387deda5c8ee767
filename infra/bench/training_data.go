package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// work is a model with its data, which both engines train. training.py has the same models by the
// same names.
type work struct {
	name  string // a, b or c
	batch int
	rows  int // of the file
	goal  string
	steps steps

	numbers []string     // float features, one value each, or one of width values
	width   int          // of each of numbers
	classes []classInput // integer features, one value each
	label   train.Label
	loss    nn.Loss
	hidden  []int // units of each layer
	act     nn.Op // of each of them; "": none
}

// classInput is a feature of ids below depth.
type classInput struct {
	Name  string `json:"name"`
	Depth int    `json:"depth"`
	from  int64  // the least that there is in the data
	most  int64  // the largest
}

// steps are how many batches each engine is given a round: enough for about a CPU-second of each.
type steps struct{ ours, peer int }

func works() []work { return []work{penguins(), dense(), taxis()} }

// penguins is A, what TFX's penguin example trains: 4-8-8-3, relu, softmax cross-entropy, batches
// of 20.
func penguins() work {
	return work{name: "a", batch: 20, rows: 20_000, goal: "> 15", steps: steps{50_000, 3000},
		numbers: []string{"body_mass_g_xf", "culmen_depth_mm_xf", "culmen_length_mm_xf", "flipper_length_mm_xf"}, width: 1,
		label: train.Label{Feature: "species_xf", Classes: 3}, loss: nn.SoftmaxCrossEntropy{}, hidden: []int{8, 8}, act: nn.OpRelu}
}

// dense is B: 256-512-256-64-1, relu, sigmoid cross-entropy, batches of 256.
func dense() work {
	return work{name: "b", batch: 256, rows: 20_480, goal: "> 1.5", steps: steps{250, 150},
		numbers: []string{"x"}, width: 256, label: train.Label{Feature: "y", Classes: 1}, loss: nn.SigmoidCrossEntropy{},
		hidden: []int{512, 256, 64}, act: nn.OpRelu}
}

// taxis is C, the model of TFX's taxi example for native Keras: numbers through layers without an
// activation of 100, 70, 48 and 34 units, classes as one-hot rows joined to the result, and one
// unit over all of it; batches of 256.
func taxis() work {
	const vocabulary, buckets = 1000 + 10, 10 // with the buckets of unknown words
	return work{name: "c", batch: 256, rows: 51_200, goal: "> 5", steps: steps{2000, 300},
		numbers: []string{"fare_xf", "trip_miles_xf", "trip_seconds_xf"}, width: 1,
		classes: []classInput{
			{"company_xf", vocabulary, 0, 54}, {"payment_type_xf", vocabulary, 0, 15},
			{"dropoff_latitude_xf", buckets, 0, 9}, {"dropoff_longitude_xf", buckets, 0, 9},
			{"pickup_latitude_xf", buckets, 0, 9}, {"pickup_longitude_xf", buckets, 0, 9},
			{"trip_start_hour_xf", 24, 0, 23}, {"trip_start_day_xf", 31, 1, 7}, {"trip_start_month_xf", 13, 1, 12},
		},
		label: train.Label{Feature: "tips_xf", Classes: 1}, loss: nn.SigmoidCrossEntropy{}, hidden: []int{100, 70, 48, 34}}
}

// spec returns what is read of each record: the inputs of the model and the label.
func (w work) spec() example.Spec {
	spec := example.Spec{{Name: w.label.Feature, Kind: example.Int64, Shape: []int{1}}}
	for _, name := range w.numbers {
		spec = append(spec, example.Feature{Name: name, Kind: example.Float, Shape: []int{w.width}})
	}
	for _, class := range w.classes {
		spec = append(spec, example.Feature{Name: class.Name, Kind: example.Int64, Shape: []int{1}})
	}
	slices.SortFunc(spec, func(a, b example.Feature) int { return strings.Compare(a.Name, b.Name) })
	return spec
}

// model returns the work's model with new weights.
func (w work) model() (*nn.Model, error) {
	b := nn.NewBuilder(nn.NewRand(1))
	var numbers, wide []nn.Ref
	for _, name := range w.numbers {
		numbers = append(numbers, b.Input(name, nn.Float32, w.width))
	}
	for _, class := range w.classes {
		wide = append(wide, b.OneHot(class.Name+"/one_hot", b.Input(class.Name, nn.Int64, 1), class.Depth))
	}
	x := concat(b, "numbers", numbers)
	for i, units := range w.hidden {
		x = b.Dense(fmt.Sprintf("dense_%d", i), x, units, w.act)
	}
	logits := b.Dense("logits", concat(b, "wide_and_deep", append([]nn.Ref{x}, wide...)), w.units(), "")
	graph, err := b.Graph()
	if err != nil {
		return nil, err
	}
	return nn.NewModel(graph, logits.Name, w.loss)
}

func concat(b *nn.Builder, name string, values []nn.Ref) nn.Ref {
	if len(values) == 1 {
		return values[0]
	}
	return b.Concat(name, values...)
}

// units returns the number of units of the last layer: one for yes or no, else one a class.
func (w work) units() int {
	if w.label.Classes < 3 {
		return 1
	}
	return w.label.Classes
}

// feed maps the work's columns to the inputs of m.
func (w work) feed(m *nn.Model) train.Feed { return train.Feed{Inputs: m.Graph.Inputs, Label: w.label} }

// write writes a plain file of rows, always the same. Numbers are standard normal, as tf.Transform
// scales them; of classes the lower ids are the more frequent, as a vocabulary orders them. The
// label is a function of a sum over all features.
func (w work) write(path string, rows int) (err error) {
	out, err := tfrecord.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	random := rand.New(rand.NewPCG(8, 1))
	slopes := normal(random, len(w.numbers)*w.width)
	for range rows {
		if err := out.Append(w.row(random, slopes)); err != nil {
			return err
		}
	}
	return nil
}

func (w work) row(random *rand.Rand, slopes []float32) []byte {
	var row example.Builder
	sum := 0.0
	for i, name := range w.numbers {
		values := normal(random, w.width)
		for j, v := range values {
			sum += float64(v * slopes[i*w.width+j])
		}
		row.Float(name, values...)
	}
	sum /= math.Sqrt(float64(len(slopes)))
	for _, class := range w.classes {
		share := random.Float64()
		id := class.from + int64(share*share*float64(class.most+1-class.from))
		sum += math.Sin(float64(id)) / 2
		row.Int64(class.Name, id)
	}
	return row.Int64(w.label.Feature, w.answer(sum+random.NormFloat64()/4)).Build()
}

// answer returns the label of a sum that is about standard normal: yes or no, or one of three
// thirds.
func (w work) answer(sum float64) int64 {
	switch {
	case w.label.Classes == 1 && sum > 0, w.label.Classes == 3 && sum > 0.44:
		return int64(max(w.label.Classes-1, 1))
	case w.label.Classes == 3 && sum > -0.44:
		return 1
	}
	return 0
}

func normal(random *rand.Rand, n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(random.NormFloat64())
	}
	return values
}
