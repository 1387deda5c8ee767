package kernel

// The formulas of Keras 3's optimizers that this package has assembly for. A new optimizer needs no
// assembly: its formula is defined next to it in compute/nn/optim.
var (
	SGD      = NewFormula("sgd", "", "rate", "w = w - rate*g")
	Momentum = NewFormula("momentum", "m", "rate mu", "m = mu*m - rate*g", "w = w + m")
	Nesterov = NewFormula("nesterov", "m", "rate mu", "change = rate*g", "m = mu*m - change", "w = w + (mu*m - change)")

	// Adam takes a rate that is corrected for the bias of the step, newer1 = 1 - Beta1 and newer2 =
	// 1 - Beta2.
	Adam = NewFormula("adam", "m v", "rate newer1 newer2 epsilon",
		"m = m + (g-m)*newer1",
		"v = v + (g*g-v)*newer2",
		"w = w - rate*m/(sqrt(v)+epsilon)")

	Adagrad = NewFormula("adagrad", "a", "rate epsilon", "a = a + g*g", "w = w - rate*g/sqrt(a+epsilon)")

	// FTRL takes twiceL2 = 2 L2.
	FTRL = NewFormula("ftrl", "a z", "rate l1 twiceL2",
		"before = sqrt(a)",
		"a = a + g*g",
		"now = sqrt(a)",
		"z = z + (g - (now-before)/rate*w)",
		"w = (max(min(z, l1), -l1) - z) / (now/rate + twiceL2)")

	// RMSprop and its variants take newer = 1 - Rho. All have the same slots, so that a state fits
	// each.
	RMSprop                 = rmsprop("rmsprop", false, false)
	RMSpropMomentum         = rmsprop("rmsprop momentum", false, true)
	RMSpropCentered         = rmsprop("rmsprop centered", true, false)
	RMSpropCenteredMomentum = rmsprop("rmsprop centered momentum", true, true)
)

func rmsprop(name string, centered, momentum bool) *Formula {
	lines := []string{"v = rho*v + newer*(g*g)", "change = rate*g/sqrt(v+epsilon)"}
	if centered {
		lines = []string{lines[0], "a = rho*a + newer*g", "change = rate*g/sqrt(v-a*a+epsilon)"}
	}
	if momentum {
		lines = append(lines, "m = mu*m + change", "w = w - m")
	} else {
		lines = append(lines, "w = w - change")
	}
	return NewFormula(name, "v m a", "rate rho newer epsilon mu", lines...)
}

// Numbers are those of a formula, in the order in which it names them. They are float64, since 1 -
// Beta2 of a float32 would be wrong in the fifth digit; they are rounded to float32 for the
// formula, as in Keras.
type Numbers [MaxNumbers]float64

// Rule is one step of an optimizer.
type Rule struct {
	Formula *Formula
	Numbers Numbers
	Decay   float64 // w -= Decay w before the formula: a rate times a weight decay, as in AdamW
}

// Rounded returns the numbers of the formula and the decay as they enter the arithmetic.
func (r *Rule) Rounded() (numbers [MaxNumbers]float32, decay float32) {
	for i, x := range r.Numbers {
		numbers[i] = float32(x)
	}
	return numbers, float32(r.Decay)
}
