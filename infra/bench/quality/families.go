package quality

import (
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// families is the choice of a model together with that model's own parameters. The best is a
// network trained with momentum, in a valley narrower than those of the others: most places of a
// forest are better than most of a network.
//
//	linear: f = 0.2 + 0.01 (log10 l2 + 2)^2 + 0.02 (l1 - 0.15)^2
//	forest: f = 0.14 + 0.005 log2(trees / 300)^2 + 0.0008 (leaves - 14)^2 + 0.05 (features - 0.45)^2
//	net:    f = 0.1 + 0.06 (log10 lr - c)^2 + 0.005 log2(width / 128)^2 + 0.012 (depth - 3)^2 + own
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

// network is how far a network is from the best one.
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
