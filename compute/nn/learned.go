package nn

import "github.com/stoker-ml/stoker/compute/nn/plan"

// learned are the weights that the loss needs. An optimizer leaves the others as they are, as Keras's do: by a gradient of 0 a rule
// with a decay, or FTRL, would change them.
type learned struct {
	ranges []plan.Range // of Model.Weights, none adjacent to another
	rest   bool         // there are others

	updates []plan.Update
	slots   [][]float32 // of updates, one after the other
}

// take adds the next n weights: those of one param.
func (l *learned) take(at, n int, needed bool) {
	last := len(l.ranges) - 1
	switch {
	case !needed:
		l.rest = true
	case last >= 0 && l.ranges[last].To == at:
		l.ranges[last].To += n
	default:
		l.ranges = append(l.ranges, plan.Range{From: at, To: at + n})
	}
}

// of are the updates of the weights that the loss needs, valid until the next call.
func (l *learned) of(updates []plan.Update) []plan.Update {
	if !l.rest {
		return updates
	}
	l.updates, l.slots = l.updates[:0], l.slots[:0]
	for _, u := range updates {
		for _, r := range l.ranges {
			if from, to := max(r.From, u.Grads.From), min(r.To, u.Grads.To); from < to {
				l.updates = append(l.updates, l.part(u, plan.Range{From: from, To: to}))
			}
		}
	}
	return l.updates
}

// part is u for some of its weights.
func (l *learned) part(u plan.Update, r plan.Range) plan.Update {
	from, to, before := r.From-u.Grads.From, r.To-u.Grads.From, len(l.slots)
	for _, slot := range u.Slots {
		l.slots = append(l.slots, slot[from:to])
	}
	return plan.Update{Rule: u.Rule, Grads: r, Weights: u.Weights[from:to], Slots: l.slots[before:len(l.slots):len(l.slots)]}
}
