package kernel

import "math"

// Update is one step of weights by their gradients; slots are Slots slices, each as long as both. An element's step depends on
// that element alone. A number below 2^-126 may count as 0, as it does in TensorFlow.
func (t *Team) Update(r Rule, weights, grads []float32, slots [][]float32) {
	n := len(weights)
	s := step{w: weights, g: first("grads of Update", grads, n), numbers: r.numbers()}
	for i, slot := range first("slots of Update", slots, r.Op.Slots()) {
		s.slots[i] = first("a slot of Update", slot, n)
	}
	if t.alone(n, updateGrain) {
		s.do(level, 0, n)
		return
	}
	t.divide(n, updateGrain, job{do: updatePart, level: level, step: s})
}

// updateGrain is how many weights are worth a thread.
const updateGrain = 8192

func updatePart(j *job, from, to int) { j.step.do(j.level, from, to) }

// step is an Update under way.
type step struct {
	w, g  []float32
	slots [3][]float32
	numbers
}

// numbers are a Rule's, as they enter the formulas.
type numbers struct {
	op                 RuleOp
	nesterov, centered bool
	momentum           bool // of RMSprop: Mu > 0

	rate, epsilon, decay, mu, rho float32
	newer1, newer2, newer         float32 // 1 - Beta1, 1 - Beta2, 1 - Rho
	l1, twiceL2                   float32
}

func (r Rule) numbers() numbers {
	return numbers{op: r.Op, nesterov: r.Nesterov, centered: r.Centered, momentum: r.Mu > 0,
		rate: float32(r.Rate), epsilon: float32(r.Epsilon), decay: float32(r.Decay), mu: float32(r.Mu), rho: float32(r.Rho),
		newer1: float32(1 - r.Beta1), newer2: float32(1 - r.Beta2), newer: float32(1 - r.Rho),
		l1: float32(r.L1), twiceL2: float32(2 * r.L2)}
}

func (s *step) do(l Level, from, to int) {
	if from < to && !s.fast(l, from, to) {
		s.portable(from, to)
	}
}

func (s *step) portable(from, to int) {
	for i := from; i < to; i++ {
		w := s.w[i]
		w -= float32(s.decay * w)
		s.w[i] = s.next(i, w, s.g[i])
	}
}

// next is the new weight i, once it was w. Here and below, a product that is added is converted to float32, which Go never fuses: so
// each processor takes the same step, to the last bit.
func (s *step) next(i int, w, g float32) float32 {
	switch s.op {
	case SGD:
		return w - float32(s.rate*g)
	case Momentum:
		return s.byMomentum(w, g, &s.slots[0][i])
	case Adam:
		return s.byAdam(w, g, &s.slots[0][i], &s.slots[1][i])
	case Adagrad:
		a := &s.slots[0][i]
		*a += float32(g * g)
		return w - s.rate*g/sqrt(*a+s.epsilon)
	case RMSprop:
		return s.byRMSprop(w, g, &s.slots[0][i], &s.slots[1][i], &s.slots[2][i])
	case FTRL:
		return s.byFTRL(w, g, &s.slots[0][i], &s.slots[1][i])
	}
	panic("kernel: no such rule")
}

func (s *step) byMomentum(w, g float32, m *float32) float32 {
	*m = float32(s.mu**m) - float32(s.rate*g)
	if s.nesterov {
		return w + (float32(s.mu**m) - float32(s.rate*g))
	}
	return w + *m
}

func (s *step) byAdam(w, g float32, m, v *float32) float32 {
	*m += float32((g - *m) * s.newer1)
	*v += float32((float32(g*g) - *v) * s.newer2)
	return w - s.rate**m/(sqrt(*v)+s.epsilon)
}

func (s *step) byRMSprop(w, g float32, v, m, a *float32) float32 {
	*v = float32(s.rho**v) + float32(s.newer*(g*g))
	d := *v
	if s.centered {
		*a = float32(s.rho**a) + float32(s.newer*g)
		d -= float32(*a * *a)
	}
	change := s.rate * g / sqrt(d+s.epsilon)
	if s.momentum {
		*m = float32(s.mu**m) + change
		change = *m
	}
	return w - change
}

func (s *step) byFTRL(w, g float32, a, z *float32) float32 {
	before := sqrt(*a)
	*a += float32(g * g)
	now := sqrt(*a)
	*z += g - float32((now-before)/s.rate*w)
	return (max(min(*z, s.l1), -s.l1) - *z) / (now/s.rate + s.twiceL2)
}

// sqrt is correctly rounded: a float64 square root of a float32 rounds to the float32 one.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
