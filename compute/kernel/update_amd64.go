package kernel

// ruleKernels are the steps of a Level, each of n weights and what they need: gradients, slots,
// numbers as the formulas name them.
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

// fast takes the steps of weights from..to with assembly of l. It returns false if there is none
// for the formula.
func (s *step) fast(l Level, from, to int) bool {
	if l == Portable {
		return false
	}
	k, w, g, n, d, x := &levelRules[l], &s.w[from], &s.g[from], to-from, s.decay, &s.numbers
	switch s.formula {
	case SGD:
		k.sgd(w, g, n, d, x[0])
	case Momentum:
		k.momentum(w, g, s.slot(0, from), n, d, x[0], x[1])
	case Nesterov:
		k.nesterov(w, g, s.slot(0, from), n, d, x[0], x[1])
	case Adam:
		k.adam(w, g, s.slot(0, from), s.slot(1, from), n, d, x[0], x[1], x[2], x[3])
	case Adagrad:
		k.adagrad(w, g, s.slot(0, from), n, d, x[0], x[1])
	case FTRL:
		k.ftrl(w, g, s.slot(0, from), s.slot(1, from), n, d, x[0], x[1], x[2])
	default:
		rmsprop := k.rmspropOf(s.formula)
		if rmsprop == nil {
			return false
		}
		rmsprop(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, d, x[0], x[1], x[2], x[3], x[4])
	}
	return true
}

// rmspropOf returns the kernel of one of RMSprop's variants, or nil.
func (k *ruleKernels) rmspropOf(f *Formula) rmspropKernel {
	switch f {
	case RMSprop:
		return k.rmsprop
	case RMSpropMomentum:
		return k.rmspropMomentum
	case RMSpropCentered:
		return k.rmspropCentered
	case RMSpropCenteredMomentum:
		return k.rmspropCenteredMomentum
	}
	return nil
}

func (s *step) slot(i, from int) *float32 { return &s.slots[i][from] }
