package quality

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// branin returns Branin's function of two variables, with three minima of the same value (Dixon and
// Szegő 1978).
//
//	f = (y - 5.1/(4 pi^2) x^2 + 5/pi x - 6)^2 + 10 (1 - 1/(8 pi)) cos x + 10
func branin() Function {
	f := func(p *point) float64 {
		x, y := p.float("x"), p.float("y")
		valley := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
		return valley*valley + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
	}
	return Function{
		Name:      "branin",
		Space:     space.Space{uniform("x", -5, 10), uniform("y", 0, 15)},
		Direction: tune.Min,
		Best:      0.39788735772973816,
		At:        formula(f),
	}
}

// Hartmann's constants for six variables (Dixon and Szegő 1978).
var (
	hartmannWeights = [4]float64{1, 1.2, 3, 3.2}
	hartmannScales  = [4][6]float64{
		{10, 3, 17, 3.5, 1.7, 8},
		{0.05, 10, 17, 0.1, 8, 14},
		{3, 3.5, 1.7, 10, 17, 8},
		{17, 8, 0.05, 10, 0.1, 14},
	}
	hartmannCenters = [4][6]float64{
		{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
		{0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
		{0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
		{0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381},
	}
)

// hartmann6 returns Hartmann's function of six variables, with six minima of which one is least.
//
//	f = - sum_i w_i exp(- sum_j a_ij (x_j - c_ij)^2)
func hartmann6() Function {
	var variables space.Space
	for j := range 6 {
		variables = append(variables, uniform(fmt.Sprintf("x%d", j), 0, 1))
	}
	f := func(p *point) float64 {
		var sum float64
		for i, w := range hartmannWeights {
			var distance float64
			for j, x := range variables {
				d := p.float(x.Name) - hartmannCenters[i][j]
				distance += hartmannScales[i][j] * d * d
			}
			sum += w * math.Exp(-distance)
		}
		return -sum
	}
	return Function{Name: "hartmann6", Space: variables, Direction: tune.Min, Best: -3.3223680114155147, At: formula(f)}
}

// mixed returns shaped as the validation loss of a network often is: parameters of every kind, a
// best learning rate that moves with the optimizer, the batch and the normalization, and a penalty
// for a deep network without dropout.
//
//	c = center[opt] + 0.125 log2(batch / 64) + 0.3 bn
//	f = 0.1 + pen[opt] + 0.08 (log10 lr - c)^2 + 0.05 ((log2 units - log2 192) / 2)^2
//	  + 0.015 (layers - 3)^2 + 0.1 (dropout - 0.3)^2
//	  + 0.02 [layers >= 4 and dropout < 0.2] + 0.012 (not bn) + 0.006 |log2(batch / 64)|
func mixed() Function {
	center := map[string]float64{"sgd": -1.5, "momentum": -2, "adam": -3, "rmsprop": -3.3}
	penalty := map[string]float64{"sgd": 0.03, "momentum": 0.01, "adam": 0, "rmsprop": 0.015}
	f := func(p *point) float64 {
		opt, bn := p.text("optimizer"), one(p.bool("bn"))
		layers, dropout := p.int("layers"), p.float("dropout")
		batch := math.Log2(p.int("batch") / 64)
		c := center[opt] + 0.125*batch + 0.3*bn
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

// one returns 1 for true and 0 for false.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// families returns the choice of a model together with that model's own parameters. The best is a
// network trained with momentum, in a valley narrower than those of the others: most points of a
// forest are better than most of a network.
//
//	linear: f = 0.2 + 0.01 (log10 l2 + 2)^2 + 0.02 (l1 - 0.15)^2
//	forest: f = 0.14 + 0.005 log2(trees / 300)^2 + 0.0008 (leaves - 14)^2
//	          + 0.05 (features - 0.45)^2
//	net:    f = 0.1 + 0.06 (log10 lr - c)^2 + 0.005 log2(width / 128)^2
//	          + 0.012 (depth - 3)^2 + own
//	   sgd:  c = -1 + log10(1 - momentum), own = 0.2 (momentum - 0.9)^2
//	   adam: c = -3 - 0.25 (depth - 3),    own = 0.01
//
// The least value is 0.1, of a net with sgd, momentum 0.9, lr 0.01, width 128 and depth 3.
func families() Function {
	f := func(p *point) float64 {
		switch p.text("model") {
		case "linear":
			return 0.2 + 0.01*square(math.Log10(p.float("l2"))+2) + 0.02*square(p.float("l1")-0.15)
		case "forest":
			return 0.14 + 0.005*square(math.Log2(p.int("trees")/300)) + 0.0008*square(p.int("leaves")-14) + 0.05*square(p.float("features")-0.45)
		default:
			return 0.1 + network(p)
		}
	}
	return Function{Name: "families", Space: familySpace(), Direction: tune.Min, Best: 0.1, At: formula(f)}
}

// network returns how far a network is from the best one.
func network(p *point) float64 {
	depth := p.int("depth")
	c, own := -3-0.25*(depth-3), 0.01
	if p.text("optimizer") == "sgd" {
		momentum := p.float("momentum")
		c, own = -1+math.Log10(1-momentum), 0.2*square(momentum-0.9)
	}
	return own + 0.06*square(math.Log10(p.float("lr"))-c) + 0.005*square(math.Log2(p.int("width")/128)) + 0.012*square(depth-3)
}

func familySpace() space.Space {
	net := slices.Concat(
		space.Space{logFloat("lr", 1e-5, 1), logInt("width", 8, 1024), integer("depth", 1, 5), choice("optimizer", "adam", "sgd")},
		where("optimizer", []any{"sgd"}, uniform("momentum", 0, 0.99)),
	)
	return slices.Concat(
		space.Space{choice("model", "linear", "forest", "net")},
		where("model", []any{"linear"}, logFloat("l2", 1e-6, 1), uniform("l1", 0, 1)),
		where("model", []any{"forest"}, logInt("trees", 10, 1000), integer("leaves", 2, 32), uniform("features", 0.1, 1)),
		where("model", []any{"net"}, net...),
	)
}

// mostLayers limits the layers of a network.
const mostLayers = 5

// layers returns a network of 1 to 5 layers, each with a width of its own, which is best at half
// that of the layer before: the best width at one depth is of little use at another.
//
//	f = 0.1 + 0.02 (layers - 3)^2
//	  + mean over i = 1..layers of 0.03 log2(units_i / (32 * 2^(layers - i)))^2
//	  + 0.06 (log10 lr - c)^2 + own + decay
//	adam: c = -3, own = 0
//	sgd:  c = -1 + log10(1 - momentum), own = 0.02 + 0.2 (momentum - 0.9)^2
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
