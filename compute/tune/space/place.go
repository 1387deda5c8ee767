package space

import "math"

// tolerance is how far a number of steps may be below a whole one: (0.5-0)/0.1 is 5 steps, despite
// rounding of floats. KerasTuner has it only for log steps, and so never tries a linear maximum
// such as this one.
const tolerance = 1e-8

// At returns the value at a place in [0, 1]; places outside count as the nearer end. It is an
// int64, float64, string or bool.
func (p Parameter) At(place float64) any {
	place = min(max(place, 0), 1)
	switch p.Kind {
	case Int, Float:
		return p.number(p.at(place))
	case Choice:
		return p.Choices[slot(place, len(p.Choices))]
	case Boolean:
		return place >= 0.5
	default:
		return p.Fixed
	}
}

// Place returns the place of a value, in [0, 1]: At(Place(v)) is v. If n values are equally likely,
// they have the middles of n equal parts; an Int on a log scale has the middle of the places that
// become it. A value that the parameter doesn't have gets the place of one near it.
func (p Parameter) Place(value any) float64 {
	switch p.Kind {
	case Int, Float:
		return p.place(toFloat(value))
	case Choice:
		return middle(p.index(value), len(p.Choices))
	case Boolean:
		if same(value, true) {
			return 0.75
		}
		return 0.25
	default:
		return 0.5
	}
}

// at returns a number at a place. For an Int without equal steps it is the value of a range that is
// larger by one, rounded down.
func (p Parameter) at(place float64) float64 {
	if n := p.steps(); n > 0 {
		return p.stepped(slot(place, n))
	}
	if p.Kind == Int {
		return min(math.Floor(scale(p.Sampling, p.Min, p.Max+1, place)), p.Max)
	}
	return min(max(scale(p.Sampling, p.Min, p.Max, place), p.Min), p.Max)
}

// place returns the place of a number.
func (p Parameter) place(value float64) float64 {
	value = min(max(value, p.Min), p.Max)
	switch n := p.steps(); {
	case math.IsNaN(value) || p.Min == p.Max:
		return 0.5
	case n > 0:
		return middle(p.step(value, n), n)
	case p.Kind == Int:
		return unscale(p.Sampling, p.Min, p.Max+1, value+0.5)
	default:
		return unscale(p.Sampling, p.Min, p.Max, value)
	}
}

// scale returns the value at a place between low and high:
//
//	linear       low + p (high - low)
//	log          low (high/low)^p
//	reverse_log  high + low - low (high/low)^(1-p)
func scale(s Sampling, low, high, place float64) float64 {
	switch s {
	case Log:
		return low * math.Pow(high/low, place)
	case ReverseLog:
		return high + low - low*math.Pow(high/low, 1-place)
	default:
		return low + place*(high-low)
	}
}

// unscale returns the place of a value between low and high, scale's inverse:
//
//	linear       (v - low) / (high - low)
//	log          ln(v/low) / ln(high/low)
//	reverse_log  1 - ln((high + low - v)/low) / ln(high/low)
func unscale(s Sampling, low, high, value float64) float64 {
	switch s {
	case Log:
		return math.Log(value/low) / math.Log(high/low)
	case ReverseLog:
		return 1 - math.Log((high+low-value)/low)/math.Log(high/low)
	default:
		return (value - low) / (high - low)
	}
}

// steps returns how many values a number with steps has; 0 if it has no steps.
func (p Parameter) steps() int {
	switch by := p.by(); {
	case p.Min == p.Max:
		return 1
	case by == 0:
		return 0
	case p.linear():
		return whole((p.Max - p.Min) / by)
	default:
		return whole(math.Log(p.Max/p.Min) / math.Log(by))
	}
}

// whole counts the steps that fit, and the start.
func whole(fit float64) int { return int(min(math.Floor(fit+tolerance), math.MaxInt32)) + 1 }

// stepped returns the value i steps from the start:
//
//	linear       min + i step
//	log          min step^i
//	reverse_log  max + min - min step^i
func (p Parameter) stepped(i int) float64 {
	switch p.Sampling {
	case Log:
		return min(p.Min*math.Pow(p.by(), float64(i)), p.Max)
	case ReverseLog:
		return max(p.Max+p.Min-p.Min*math.Pow(p.by(), float64(i)), p.Min)
	default:
		return min(p.Min+float64(i)*p.by(), p.Max)
	}
}

// step returns how many steps from the start a value is, to the nearest.
func (p Parameter) step(value float64, n int) int {
	var steps float64
	switch p.Sampling {
	case Log:
		steps = math.Log(value/p.Min) / math.Log(p.by())
	case ReverseLog:
		steps = math.Log((p.Max+p.Min-value)/p.Min) / math.Log(p.by())
	default:
		steps = (value - p.Min) / p.by()
	}
	return int(min(max(math.Round(steps), 0), float64(n-1)))
}

// by returns the step: for an Int on a linear scale it is 1 if none was given.
func (p Parameter) by() float64 {
	if p.Kind == Int && p.Step == 0 && p.linear() {
		return 1
	}
	return p.Step
}

// linear reports whether the scale is linear.
func (p Parameter) linear() bool { return p.Sampling == Linear || p.Sampling == "" }

// number converts a float64 to the parameter's kind.
func (p Parameter) number(value float64) any {
	if p.Kind == Int {
		return int64(math.Round(value))
	}
	return value
}

// slot returns which of n equal parts a place is in, divided as KerasTuner does.
func slot(place float64, n int) int { return min(int(place/(1/float64(n))), n-1) }

// middle returns the place in the middle of part i of n, summed up as KerasTuner does.
func middle(i, n int) float64 {
	part := 1 / float64(n)
	return float64(i)*part + part/2
}
