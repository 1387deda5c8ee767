package kernel

// ruleKernels are the steps of a Level, each of n weights and what they need: gradients, slots, numbers as the formulas name them.
type ruleKernels struct {
	sgd  func(w, g *float32, n int, decay, rate float32)
	adam func(w, g, m, v *float32, n int, decay, rate, newer1, newer2, epsilon float32)
	ftrl func(w, g, a, z *float32, n int, decay, rate, l1, twiceL2 float32)

	momentum, nesterov func(w, g, m *float32, n int, decay, rate, mu float32)
	adagrad            func(w, g, a *float32, n int, decay, rate, epsilon float32)

	rmsprop, rmspropMomentum, rmspropCentered, rmspropCenteredMomentum rmspropKernel
}

type rmspropKernel func(w, g, v, m, a *float32, n int, decay, rate, rho, newer, epsilon, mu float32)

// levelRules are by Level.
var levelRules = [...]ruleKernels{
	AVX2: {
		sgd:      sgdAVX2,
		adam:     adamAVX2,
		ftrl:     ftrlAVX2,
		momentum: momentumAVX2, nesterov: nesterovAVX2,
		adagrad: adagradAVX2,
		rmsprop: rmspropAVX2, rmspropMomentum: rmspropMomentumAVX2,
		rmspropCentered: rmspropCenteredAVX2, rmspropCenteredMomentum: rmspropCenteredMomentumAVX2,
	},
	AVX512: {
		sgd:      sgdAVX512,
		adam:     adamAVX512,
		ftrl:     ftrlAVX512,
		momentum: momentumAVX512, nesterov: nesterovAVX512,
		adagrad: adagradAVX512,
		rmsprop: rmspropAVX512, rmspropMomentum: rmspropMomentumAVX512,
		rmspropCentered: rmspropCenteredAVX512, rmspropCenteredMomentum: rmspropCenteredMomentumAVX512,
	},
}

// fast takes the steps of weights from..to with the kernels of l, if it has any.
func (s *step) fast(l Level, from, to int) bool {
	if l == Portable {
		return false
	}
	k, w, g, n := &levelRules[l], &s.w[from], &s.g[from], to-from
	switch {
	case s.op == SGD:
		k.sgd(w, g, n, s.decay, s.rate)
	case s.op == Momentum && s.nesterov:
		k.nesterov(w, g, s.slot(0, from), n, s.decay, s.rate, s.mu)
	case s.op == Momentum:
		k.momentum(w, g, s.slot(0, from), n, s.decay, s.rate, s.mu)
	case s.op == Adam:
		k.adam(w, g, s.slot(0, from), s.slot(1, from), n, s.decay, s.rate, s.newer1, s.newer2, s.epsilon)
	case s.op == Adagrad:
		k.adagrad(w, g, s.slot(0, from), n, s.decay, s.rate, s.epsilon)
	case s.op == RMSprop:
		k.rmspropOf(s)(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	case s.op == FTRL:
		k.ftrl(w, g, s.slot(0, from), s.slot(1, from), n, s.decay, s.rate, s.l1, s.twiceL2)
	default:
		return false
	}
	return true
}

// rmspropOf is the one of the four that s asks for.
func (k *ruleKernels) rmspropOf(s *step) rmspropKernel {
	switch {
	case s.centered && s.momentum:
		return k.rmspropCenteredMomentum
	case s.centered:
		return k.rmspropCentered
	case s.momentum:
		return k.rmspropMomentum
	}
	return k.rmsprop
}

func (s *step) slot(i, from int) *float32 { return &s.slots[i][from] }
