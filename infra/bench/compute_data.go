package main

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// write makes a plain file of so many rows, always the same. Numbers are standard normal, as
// tf.Transform scales them; of classes the lower ids are the more frequent, as a vocabulary orders
// them. What is to be learnt is a sum over all of it.
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

// answer is the class of a sum that is about standard normal: yes or no, or one of three thirds.
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
