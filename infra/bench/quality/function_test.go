package quality

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestTheLeastValuesAreWhereTheySay(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]space.Values{
		"branin": {{Name: "x", Of: math.Pi}, {Name: "y", Of: 2.275}},
		"hartmann6": {{Name: "x0", Of: 0.20168951265373836}, {Name: "x1", Of: 0.15001069182345125}, {Name: "x2", Of: 0.47687397421890764},
			{Name: "x3", Of: 0.27533243094960573}, {Name: "x4", Of: 0.31165161653019844}, {Name: "x5", Of: 0.6573005348530713}},
		"mixed": {{Name: "lr", Of: math.Pow(10, -2.7)}, {Name: "units", Of: int64(192)}, {Name: "layers", Of: int64(3)},
			{Name: "dropout", Of: 0.3}, {Name: "optimizer", Of: "adam"}, {Name: "batch", Of: int64(64)}, {Name: "bn", Of: true}},
		"families": {{Name: "model", Of: "net"}, {Name: "lr", Of: 0.01}, {Name: "width", Of: int64(128)}, {Name: "depth", Of: int64(3)},
			{Name: "optimizer", Of: "sgd"}, {Name: "momentum", Of: 0.9}},
		"layers": {{Name: "layers", Of: int64(3)}, {Name: "units_1", Of: int64(128)}, {Name: "units_2", Of: int64(64)},
			{Name: "units_3", Of: int64(32)}, {Name: "lr", Of: 0.001}, {Name: "optimizer", Of: "adam"}, {Name: "decay", Of: true},
			{Name: "strength", Of: 0.0001}},
	} {
		f, err := Find(Known(), name)
		if err != nil {
			t.Fatal(err)
		}
		y, err := f.At(values)
		if err != nil {
			t.Fatal(err)
		}
		// Only rounding: the positions are exact to float64's last digits, and f is flat there.
		if math.Abs(y-f.Best) > 1e-12 {
			t.Errorf("%s: %v where it is least, expected %v", name, y, f.Best)
		}
	}
}

// A place where every term of mixed counts, worked out by hand: c = -1.5 + 0.125 * 2 = -1.25, so
// that lr is off by 0.25.
func TestTheMixedFunctionIsAsWritten(t *testing.T) {
	t.Parallel()
	y, err := mixed().At(space.Values{{Name: "lr", Of: 0.1}, {Name: "units", Of: int64(64)}, {Name: "layers", Of: int64(4)},
		{Name: "dropout", Of: 0.1}, {Name: "optimizer", Of: "sgd"}, {Name: "batch", Of: int64(256)}, {Name: "bn", Of: false}})
	if err != nil {
		t.Fatal(err)
	}
	// 0.05 (log2(64/192) / 2)^2 has 6 digits
	if want := 0.1 + 0.03 + 0.005 + 0.0314013 + 0.015 + 0.004 + 0.02 + 0.012 + 0.012; math.Abs(y-want) > 1e-6 {
		t.Errorf("%v, expected %v", y, want)
	}
}

// No random point may be better than the best one, and each point has a value, whatever parameters
// are active there.
func TestNothingIsBetterThanTheBest(t *testing.T) {
	t.Parallel()
	for _, f := range Known() {
		for trial := range 2000 {
			stream := space.NewStream(1, trial)
			values := f.Space.Fill(func(p space.Parameter) any { return p.At(stream.Float64(p.Name, 0)) })
			y, err := f.At(values)
			if err != nil {
				t.Fatal(err)
			}
			if y < f.Best-1e-12 || math.IsNaN(y) {
				t.Errorf("%s: %v at %v, less than the best, %v", f.Name, y, values, f.Best)
			}
		}
	}
}
