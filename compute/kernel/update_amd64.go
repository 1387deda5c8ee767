package kernel

func (s *step) fast(l Level, from, to int) bool {
	switch {
	case s.op < SGD || s.op > FTRL:
		return false
	case l == AVX512:
		s.avx512(from, to)
	case l == AVX2:
		s.avx2(from, to)
	default:
		return false
	}
	return true
}

func (s *step) avx512(from, to int) {
	w, g, n := &s.w[from], &s.g[from], to-from
	switch {
	case s.op == SGD:
		sgdAVX512(w, g, n, s.decay, s.rate)
	case s.op == Momentum && s.nesterov:
		nesterovAVX512(w, g, s.slot(0, from), n, s.decay, s.rate, s.mu)
	case s.op == Momentum:
		momentumAVX512(w, g, s.slot(0, from), n, s.decay, s.rate, s.mu)
	case s.op == Adam:
		adamAVX512(w, g, s.slot(0, from), s.slot(1, from), n, s.decay, s.rate, s.newer1, s.newer2, s.epsilon)
	case s.op == Adagrad:
		adagradAVX512(w, g, s.slot(0, from), n, s.decay, s.rate, s.epsilon)
	case s.op == FTRL:
		ftrlAVX512(w, g, s.slot(0, from), s.slot(1, from), n, s.decay, s.rate, s.l1, s.twiceL2)
	case s.centered && s.momentum:
		rmspropCenteredMomentumAVX512(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	case s.centered:
		rmspropCenteredAVX512(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	case s.momentum:
		rmspropMomentumAVX512(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	default:
		rmspropAVX512(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	}
}

func (s *step) avx2(from, to int) {
	w, g, n := &s.w[from], &s.g[from], to-from
	switch {
	case s.op == SGD:
		sgdAVX2(w, g, n, s.decay, s.rate)
	case s.op == Momentum && s.nesterov:
		nesterovAVX2(w, g, s.slot(0, from), n, s.decay, s.rate, s.mu)
	case s.op == Momentum:
		momentumAVX2(w, g, s.slot(0, from), n, s.decay, s.rate, s.mu)
	case s.op == Adam:
		adamAVX2(w, g, s.slot(0, from), s.slot(1, from), n, s.decay, s.rate, s.newer1, s.newer2, s.epsilon)
	case s.op == Adagrad:
		adagradAVX2(w, g, s.slot(0, from), n, s.decay, s.rate, s.epsilon)
	case s.op == FTRL:
		ftrlAVX2(w, g, s.slot(0, from), s.slot(1, from), n, s.decay, s.rate, s.l1, s.twiceL2)
	case s.centered && s.momentum:
		rmspropCenteredMomentumAVX2(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	case s.centered:
		rmspropCenteredAVX2(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	case s.momentum:
		rmspropMomentumAVX2(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	default:
		rmspropAVX2(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, s.decay, s.rate, s.rho, s.newer, s.epsilon, s.mu)
	}
}

func (s *step) slot(i, from int) *float32 { return &s.slots[i][from] }
