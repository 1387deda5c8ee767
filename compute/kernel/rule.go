package kernel

// RuleOp names how an optimizer changes weights.
type RuleOp int

// The rules, each on one weight w, its gradient g and its slots. All as in Keras 3; a scalar is a field of Rule.
const (
	// SGD is w -= Rate g.
	SGD RuleOp = iota
	// Momentum is m = Mu m - Rate g, then w += m; Nesterov: w += Mu m - Rate g. Slot: m.
	Momentum
	// Adam is m += (g - m) (1 - Beta1), v += (g^2 - v) (1 - Beta2), w -= Rate m / (sqrt(v) + Epsilon), with Rate already corrected for
	// the bias of step t. Slots: m, v.
	Adam
	// Adagrad is a += g^2, w -= Rate g / sqrt(a + Epsilon). Slot: a.
	Adagrad
	// RMSprop is v = Rho v + (1 - Rho) g^2; d = v, or where Centered a = Rho a + (1 - Rho) g and d = v - a^2;
	// s = Rate g / sqrt(d + Epsilon); where Mu > 0, m = Mu m + s and w -= m, else w -= s. Slots: v, m, a; always three.
	RMSprop
	// FTRL is b = a + g^2, z += g - (sqrt(b) - sqrt(a)) / Rate w, a = b, w = (clip(z, -L1, L1) - z) / (sqrt(a) / Rate + 2 L2). Slots: a, z.
	FTRL
)

// Rule is one step of an optimizer. Its numbers are float64, since 1 - Beta2 of a float32 would be wrong in the fifth digit; what
// enters the formulas is rounded to float32, as Keras does.
type Rule struct {
	Op                    RuleOp
	Rate                  float64
	Beta1, Beta2, Epsilon float64
	Decay                 float64 // before any rule, w -= Decay w: the product of a rate and a weight decay, as AdamW has it
	Mu, Rho               float64
	L1, L2                float64
	Nesterov, Centered    bool
}

// Slots is how many numbers the rule keeps for each weight.
func (op RuleOp) Slots() int {
	switch op {
	case Momentum, Adagrad:
		return 1
	case Adam, FTRL:
		return 2
	case RMSprop:
		return 3
	}
	return 0
}
