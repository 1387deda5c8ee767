package main

import "context"

// contender is one side of a comparison. run does the work of a round once, and returns what it
// took.
type contender struct {
	name string
	run  func(round int) (float64, error)
}

const (
	oursName = "ours"
	peerName = "peer"
)

// measured has the samples of each contender, one a round, by its name.
type measured map[string]samples

// compare has the contenders run in turn, once a round. With warmUp, a round comes first that is
// not counted.
func compare(ctx context.Context, rounds int, warmUp bool, contenders ...contender) (measured, error) {
	all := measured{}
	first := 0
	if warmUp {
		first = -1
	}
	for round := first; round < rounds; round++ {
		for _, c := range contenders {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			took, err := c.run(round - first)
			if err != nil {
				return nil, err
			}
			if round >= 0 {
				all[c.name] = append(all[c.name], took)
			}
		}
	}
	return all, nil
}

// ratios are those of the rounds, of one contender to another.
func (m measured) ratios(of, to string) (all samples) {
	for i, x := range m[of] {
		all = append(all, x/m[to][i])
	}
	return all
}

// cost is the figure of our cost and the peer's, by their medians.
func (m measured) cost(name, unit, goal, peer string) figure {
	ours := m[oursName]
	return alone(name, unit, ours.quantile(0.5), ours, goal).against(peer, rounded(m[peerName].quantile(0.5)))
}

// costs are the cost, and the median of the rounds' own ratios, whose spread says how reliable it
// is.
func (m measured) costs(name, unit, goal, peer string) []figure {
	ratios := m.ratios(peerName, oursName)
	return []figure{m.cost(name, unit, "", peer), alone(name+"-ratio", times, ratios.quantile(0.5), ratios, goal)}
}
