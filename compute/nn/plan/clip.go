package plan

import "math"

// Clip follows Keras: clip_by_value, clip_by_norm and clip_by_global_norm of its optimizers.
func (m *cpu) Clip(c Clip) error {
	switch {
	case c.Value > 0:
		for i, g := range m.grads {
			m.grads[i] = max(min(g, c.Value), -c.Value)
		}
	case c.Norm > 0:
		for _, p := range m.plan.Params {
			m.shorten(m.grads[p.From:p.To], c.Norm)
		}
	case c.Global > 0:
		m.shorten(m.grads, c.Global)
	}
	return nil
}

// shorten scales g to an L2 norm of at most bound. One element that isn't finite makes all of them NaN, as in Keras.
func (m *cpu) shorten(g []float32, bound float32) {
	norm := math.Sqrt(m.team.SumSquares(g))
	if norm <= float64(bound) {
		return
	}
	by := float32(float64(bound)/norm + (norm - norm)) // NaN where the norm is infinite
	for i := range g {
		g[i] *= by
	}
}

// Update changes weights in place.
func (m *cpu) Update(updates []Update) error {
	for i := range updates {
		u := &updates[i]
		m.team.Update(u.Rule, u.Weights, m.grads[u.Grads.From:u.Grads.To], u.Slots)
	}
	return nil
}
