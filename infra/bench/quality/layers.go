package quality

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// most layers that a network has.
const mostLayers = 5

// layers is a network of 1 to 5 layers, each with a width of its own, which is best at half that of
// the layer before. So what is learned of a width at one depth is of little use at another.
//
//	f = 0.1 + 0.02 (layers - 3)^2 + mean over i = 1..layers of 0.03 log2(units_i / (32 * 2^(layers - i)))^2
//	  + 0.06 (log10 lr - c)^2 + own + decay
//	adam: c = -3, own = 0;   sgd: c = -1 + log10(1 - momentum), own = 0.02 + 0.2 (momentum - 0.9)^2
//	decay = 0.015 without, 0.004 (log10 strength + 4)^2 with
//
// The least value is 0.1: three layers of 128, 64 and 32, adam, lr 0.001, decay of strength 0.0001.
func layers() Function {
	f := func(p *point) float64 {
		n := p.int("layers")
		return 0.1 + 0.02*square(n-3) + widths(p, int(n)) + rate(p) + decay(p)
	}
	return Function{Name: "layers", Space: layerSpace(), Direction: tune.Min, Best: 0.1, At: formula(f)}
}

func widths(p *point, n int) (mean float64) {
	for i := 1; i <= n; i++ {
		best := 32 * math.Pow(2, float64(n-i))
		mean += 0.03 * square(math.Log2(p.int(unitsOf(i))/best)) / float64(n)
	}
	return mean
}

func rate(p *point) float64 {
	c, own := -3.0, 0.0
	if p.text("optimizer") == "sgd" {
		momentum := p.float("momentum")
		c, own = -1+math.Log10(1-momentum), 0.02+0.2*square(momentum-0.9)
	}
	return own + 0.06*square(math.Log10(p.float("lr"))-c)
}

func decay(p *point) float64 {
	if !p.bool("decay") {
		return 0.015
	}
	return 0.004 * square(math.Log10(p.float("strength"))+4)
}

func unitsOf(layer int) string { return fmt.Sprintf("units_%d", layer) }

func layerSpace() space.Space {
	s := space.Space{integer("layers", 1, mostLayers), logInt(unitsOf(1), 8, 512)}
	for i := 2; i <= mostLayers; i++ {
		var deep []any // enough for a layer i
		for n := i; n <= mostLayers; n++ {
			deep = append(deep, int64(n))
		}
		s = append(s, where("layers", deep, logInt(unitsOf(i), 8, 512))...)
	}
	return slices.Concat(s,
		space.Space{logFloat("lr", 1e-5, 1), choice("optimizer", "adam", "sgd")},
		where("optimizer", []any{"sgd"}, uniform("momentum", 0, 0.99)),
		space.Space{{Name: "decay", Kind: space.Boolean}},
		where("decay", []any{true}, logFloat("strength", 1e-7, 0.1)),
	)
}
