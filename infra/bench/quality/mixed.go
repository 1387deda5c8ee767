package quality

import (
	"math"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// mixed is shaped as the validation loss of a network often is: parameters of every kind, a best
// learning rate that moves with the optimizer, the batch and the normalisation, and a penalty for a
// deep network without dropout.
//
//	c = centre[opt] + 0.125 log2(batch / 64) + 0.3 bn
//	f = 0.1 + pen[opt] + 0.08 (log10 lr - c)^2 + 0.05 ((log2 units - log2 192) / 2)^2 + 0.015 (layers - 3)^2 + 0.1 (dropout - 0.3)^2
//	  + 0.02 [layers >= 4 and dropout < 0.2] + 0.012 (not bn) + 0.006 |log2(batch / 64)|
func mixed() Function {
	centre := map[string]float64{"sgd": -1.5, "momentum": -2, "adam": -3, "rmsprop": -3.3}
	penalty := map[string]float64{"sgd": 0.03, "momentum": 0.01, "adam": 0, "rmsprop": 0.015}
	f := func(p *point) float64 {
		opt, bn := p.text("optimizer"), one(p.bool("bn"))
		layers, dropout := p.int("layers"), p.float("dropout")
		batch := math.Log2(p.int("batch") / 64)
		c := centre[opt] + 0.125*batch + 0.3*bn
		return 0.1 + penalty[opt] + 0.08*square(math.Log10(p.float("lr"))-c) +
			0.05*square((math.Log2(p.int("units"))-math.Log2(192))/2) +
			0.015*square(layers-3) + 0.1*square(dropout-0.3) +
			0.02*one(layers >= 4 && dropout < 0.2) + 0.012*(1-bn) + 0.006*math.Abs(batch)
	}
	batch := logInt("batch", 16, 256)
	batch.Step = 2
	dropout := uniform("dropout", 0, 0.6)
	dropout.Step = 0.05
	return Function{
		Name: "mixed",
		Space: space.Space{logFloat("lr", 1e-5, math.Pow(10, -0.5)), logInt("units", 8, 512), integer("layers", 1, 6), dropout,
			choice("optimizer", "sgd", "momentum", "adam", "rmsprop"), batch, {Name: "bn", Kind: space.Boolean}},
		Direction: tune.Min,
		Best:      0.1,
		At:        formula(f),
	}
}

func square(x float64) float64 { return x * x }

// one is 1 for what is true, else 0.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
