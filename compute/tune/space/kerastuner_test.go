package space_test

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

//go:embed testdata/kerastuner.py
var kerasTuner string

// asked are questions to KerasTuner about a config, and answered its answers.
type asked struct {
	Config string    `json:"config"`
	Places []float64 `json:"places"`
}

type answered struct {
	Made  []string // configs of spaces that were made in Python
	Again []read   // one for each config
}

type read struct {
	Config string            // as it is written again
	Values [][]any           // by parameter, by place
	Back   [][]tftest.Number // the places of these values
	Active []bool            // by parameter
}

// The real KerasTuner reads the configs written here and writes the same, and vice versa; and a
// place has the same value in both.
func TestTheRealKerasTunerAgrees(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	spaces := []space.Space{models}
	for range 40 {
		spaces = append(spaces, randomSpace(rng))
	}
	places := []float64{0, 0.01, 0.2501, 0.4999, 0.5, 0.777, 0.9, 0.999999}
	var ask []asked
	var filled []space.Values
	for _, s := range spaces {
		values := s.Fill(func(p space.Parameter) any { return p.At(rng.Float64()) })
		filled = append(filled, values)
		text, err := s.Encode(values)
		if err != nil {
			t.Fatal(err)
		}
		ask = append(ask, asked{string(text), places})
	}
	var answer answered
	tftest.Run(t, kerasTuner, ask, &answer)
	for i, s := range spaces {
		again := answer.Again[i]
		if again.Config != ask[i].Config {
			t.Errorf("written\n%s\nread by KerasTuner as\n%s", ask[i].Config, again.Config)
		}
		for j, p := range s {
			comparePlaces(t, p, places, again.Values[j], again.Back[j])
			if active := s.Active(p, filled[i]); active != again.Active[j] {
				t.Errorf("%v: %s is active: %v, by KerasTuner %v", filled[i], p.Name, active, again.Active[j])
			}
		}
	}
	for _, text := range answer.Made {
		s, values, err := space.Decode([]byte(text))
		if err != nil {
			t.Errorf("%v: %s", err, text)
			continue
		}
		if again, err := s.Encode(values); err != nil || string(again) != text {
			t.Errorf("KerasTuner's\n%s\nis written again as\n%s, %v", text, again, err)
		}
		if values.Key() != s.Defaults().Key() {
			t.Errorf("values %v, expected its defaults %v", values, s.Defaults())
		}
	}
}

// comparePlaces allows for differences between powers and logarithms of two libraries.
func comparePlaces(t *testing.T, p space.Parameter, places []float64, values []any, back []tftest.Number) {
	t.Helper()
	for i, place := range places {
		got := p.At(place)
		if !close(got, values[i]) {
			t.Errorf("%+v at %v: got %v, KerasTuner %v", p, place, got, values[i])
		}
		if got := p.Place(got); math.Abs(got-float64(back[i])) > 1e-9 {
			t.Errorf("%+v: place of %v: got %v, KerasTuner %v", p, values[i], got, back[i])
		}
	}
}

func close(a, b any) bool {
	x, isFloat := a.(float64)
	y, alsoFloat := b.(float64)
	return equal(a, b) || isFloat && alsoFloat && math.Abs(x-y) <= 1e-12*math.Abs(y)
}

// randomSpace has parameters of all kinds, a third of them below a choice. Floats with linear steps
// divide their range into halves, which floats represent exactly: with others KerasTuner loses the
// maximum.
func randomSpace(rng *rand.Rand) (s space.Space) {
	s = append(s, space.Parameter{Name: "kind", Kind: space.Choice, Choices: []any{"é", "b", "c\n"}})
	for i := range 8 {
		p := randomParameter(rng)
		p.Name = fmt.Sprintf("scope/p%d", i)
		if rng.IntN(3) == 0 {
			p.Conditions = []space.Condition{{Parent: "kind", Values: slices.Clone(s[0].Choices[:1+rng.IntN(2)])}}
		}
		s = append(s, p)
	}
	return s
}

func randomParameter(rng *rand.Rand) space.Parameter {
	sampling := []space.Sampling{space.Linear, space.Log, space.ReverseLog}[rng.IntN(3)]
	low := float64(1 + rng.IntN(20))
	high := low + float64(rng.IntN(1000))
	p := space.Parameter{Min: low, Max: high, Sampling: sampling}
	switch rng.IntN(5) {
	case 0:
		p.Kind = space.Int
		if sampling == space.Linear {
			p.Step = float64(1 + rng.IntN(5))
		} else if rng.IntN(2) == 0 {
			p.Step = float64(2 + rng.IntN(3))
		}
	case 1:
		p.Kind = space.Float
		p.Min /= 64
		if sampling == space.Linear && rng.IntN(2) == 0 {
			p.Max, p.Step = p.Min+float64(rng.IntN(9))/2, 0.5
		}
	case 2:
		p = space.Parameter{Kind: space.Choice, Choices: []any{0.1, 1e-5, 3.0}, Default: 1e-5, Ordered: rng.IntN(2) == 0}
	case 3:
		p = space.Parameter{Kind: space.Boolean, Default: rng.IntN(2) == 0}
	default:
		p = space.Parameter{Kind: space.Fixed, Fixed: []any{int64(7), 1e16, "x", true}[rng.IntN(4)]}
	}
	return p
}
