package plan

// Clip implements Machine.
func (m *cpu) Clip(c Clip) error {
	switch {
	case c.Value > 0:
		m.team.ClipValue(m.grads, c.Value)
	case c.Norm > 0:
		for _, p := range m.plan.Params {
			m.team.ClipNorm(m.grads[p.From:p.To], c.Norm)
		}
	case c.Global > 0:
		m.team.ClipNorm(m.grads, c.Global)
	}
	return nil
}

// Update changes weights in place.
func (m *cpu) Update(updates []Update) error {
	for i := range updates {
		u := &updates[i]
		m.team.Update(u.Rule, u.Weights, m.grads[u.Grads.From:u.Grads.To], u.Slots)
	}
	return nil
}
