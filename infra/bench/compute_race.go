package main

import (
	"context"
	"fmt"
	"strings"
)

// race is a work, and what engines took for it, a cost a round.
type race struct {
	work
	file  string
	peers peers
	modes []mode

	ours     []cost // on one thread
	together []cost // on two
	theirs   map[mode][]cost
}

// round lets us and each mode of TensorFlow train in turn.
func (r *race) round(ctx context.Context) error {
	for threads, costs := range map[int]*[]cost{1: &r.ours, 2: &r.together} {
		c, err := r.train(ctx, r.file, r.steps.ours, threads)
		if err != nil {
			return err
		}
		*costs = append(*costs, c)
	}
	for _, m := range r.modes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c, err := r.peers[m.threads].train(r.work, r.file, m)
		if err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
		r.theirs[m] = append(r.theirs[m], c)
	}
	return nil
}

// figures compare our rates with TensorFlow's best by two threads, which the goal is about, by one
// thread, which takes the least CPU time, and by the clock, on two threads both; what we allocate:
// what opening the file for each pass takes, a step by itself nothing; and each of TensorFlow's
// ways.
func (r *race) figures() (all []figure) {
	name := "compute-" + r.name
	two, one, wall := r.best(2, cost.perCPU), r.best(1, cost.perCPU), r.best(2, cost.perSecond)
	all = append(all,
		r.comparedWith(r.ours, name, two, perCPUSecond, cost.perCPU),
		r.ratio(name+"-ratio", two, r.goal),
		r.comparedWith(r.ours, name+"-one-thread", one, perCPUSecond, cost.perCPU),
		r.ratio(name+"-one-thread-ratio", one, ""),
		r.comparedWith(r.together, name+"-wall", wall, perSecond, cost.perSecond),
	)
	for _, m := range r.modes {
		all = append(all, r.comparedWith(r.ours, name+"-"+m.slug(), m, perCPUSecond, cost.perCPU))
	}
	bytes, objects := each(r.ours, func(c cost) float64 { return c.bytes }), each(r.ours, func(c cost) float64 { return c.objects })
	return append(all,
		alone(name+"-allocated", "bytes/step", bytes.quantile(0.5), bytes, "0"),
		alone(name+"-objects", "a step", objects.quantile(0.5), objects, "0"))
}

// best is the mode with so many threads whose median rate is the highest.
func (r *race) best(threads int, rate func(cost) float64) (best mode) {
	most := -1.0
	for _, m := range r.modes {
		if median := each(r.theirs[m], rate).quantile(0.5); m.threads == threads && median > most {
			best, most = m, median
		}
	}
	return best
}

// comparedWith compares our median rate with a mode's.
func (r *race) comparedWith(costs []cost, name string, m mode, unit string, rate func(cost) float64) figure {
	ours := each(costs, rate)
	return alone(name, unit, ours.quantile(0.5), ours, "").faster(tensorflowName+", "+m.String(), rounded(each(r.theirs[m], rate).quantile(0.5)))
}

// ratio is the median of the rounds' own ratios.
func (r *race) ratio(name string, m mode, goal string) figure {
	var ratios samples
	for i, ours := range r.ours {
		ratios = append(ratios, ours.perCPU()/r.theirs[m][i].perCPU())
	}
	return alone(name, times, ratios.quantile(0.5), ratios, goal)
}

func each(costs []cost, number func(cost) float64) (all samples) {
	for _, c := range costs {
		all = append(all, number(c))
	}
	return all
}

// slug is the mode as a part of a figure's name.
func (m mode) slug() string {
	return strings.ToLower(strings.NewReplacer(", ", "-", " ", "-", "_", "-").Replace(m.String()))
}
