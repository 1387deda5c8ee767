package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// part is what -part chooses: groups that are measured one after another.
type part struct {
	name   string
	groups []group
}

// group is an entry of the table: figures whose samples are taken in the same rounds.
type group struct {
	rounds int // unless -rounds sets another number
	warmUp int // further rounds before them, whose samples are dropped
	// setup prepares what is measured, passes the turns to recorder.run, and cleans up.
	setup   func(context.Context, bench, *recorder) error
	figures []spec
	// measure replaces setup where figures are not made of samples of rounds.
	measure func(context.Context, bench) ([]figure, error)
}

// turn does the work of one contender once, ours or a peer's, and adds its samples to the recorder.
type turn func(round int) error

// recorder runs the rounds of a group and keeps their samples by series.
type recorder struct {
	rounds, warmUp int
	dropping       bool
	samples        map[string]samples
	peerNames      map[string]string // of series whose peer gives its own name
}

// run measures each contender in turn, round after round, so that a change of the machine's speed
// affects all of them. Rounds are counted from 0, those that warm up included.
func (r *recorder) run(ctx context.Context, turns ...turn) error {
	for round := range r.warmUp + r.rounds {
		r.dropping = round < r.warmUp
		for _, take := range turns {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := take(round); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return nil
}

// add adds a sample to a series, unless this round only warms up.
func (r *recorder) add(series string, value float64) {
	if !r.dropping {
		r.samples[series] = append(r.samples[series], value)
	}
}

// addTime adds a duration in milliseconds.
func (r *recorder) addTime(series string, d time.Duration) {
	r.add(series, float64(d)/float64(time.Millisecond))
}

// figuresOf measures a group.
func (b bench) figuresOf(ctx context.Context, g group) ([]figure, error) {
	if g.measure != nil {
		return g.measure(ctx, b)
	}
	r := &recorder{rounds: b.times(g.rounds), warmUp: g.warmUp, samples: map[string]samples{}, peerNames: map[string]string{}}
	if err := g.setup(ctx, b, r); err != nil {
		return nil, err
	}
	var all []figure
	for _, s := range g.figures {
		if len(r.samples[s.of]) == 0 {
			return nil, fmt.Errorf("figure %s: series %q has no samples", s.name, s.of)
		}
		f := s.figure(r.samples)
		if name, ok := r.peerNames[s.best(r.samples).series]; ok && f.Peer != nil {
			f.PeerName = name
		}
		all = append(all, f)
	}
	return all, nil
}

// times returns the number of rounds to measure: the caller's, else the group's own.
func (b bench) times(own int) int {
	if b.rounds > 0 {
		return b.rounds
	}
	return own
}

// spec is how a figure is made of the samples of a group.
type spec struct {
	name, unit string
	goal       string    // as text for the table; "" for a figure that explains another
	of         string    // series of our samples
	at         statistic // of them; nil: their median
	more       bool      // more is better: a rate
	peers      []peer    // the one with the best median counts
	// The figure is the ratio to the peer itself, with the spread of the rounds' ratios.
	ratio bool
}

// peer is what a figure is compared with: a series of the same rounds, or a recorded value.
type peer struct {
	name, series string
	recorded     float64
}

// statistic makes one number of the samples of a series.
type statistic func(samples) float64

func p99(s samples) float64     { return s.quantile(0.99) }
func longest(s samples) float64 { return s.quantile(1) }

// figure compares the samples of ours with those of the best peer. The ratio to a peer of the same
// rounds is the median of the rounds' own ratios.
func (s spec) figure(all map[string]samples) figure {
	at := s.at
	if at == nil {
		at = samples.median
	}
	ours, p := all[s.of], s.best(all)
	ratios := s.ratios(ours, all[p.series])
	if s.ratio {
		ours = ratios
	}
	f := figure{Name: s.name, Unit: s.unit, Ours: rounded(at(ours)), PeerName: noPeer, Spread: rounded(ours.spread()), Rounds: len(ours), goal: s.goal}
	if s.ratio || p.name == "" {
		return f
	}
	theirs, ratio := rounded(all[p.series].median()), rounded(ratios.median())
	if p.series == "" {
		theirs, ratio = p.recorded, rounded(p.recorded/f.Ours)
	}
	f.Peer, f.PeerName, f.Ratio = &theirs, p.name, &ratio
	return f
}

// best returns the peer with the best median; the zero peer if there are none.
func (s spec) best(all map[string]samples) peer {
	if len(s.peers) == 0 {
		return peer{}
	}
	return slices.MaxFunc(s.peers, func(a, b peer) int {
		x, y := all[a.series].median(), all[b.series].median()
		if s.more {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(y, x)
	})
}

// ratios are above 1 where ours is better.
func (s spec) ratios(ours, theirs samples) (all samples) {
	for i := range min(len(ours), len(theirs)) {
		if s.more {
			all = append(all, ours[i]/theirs[i])
		} else {
			all = append(all, theirs[i]/ours[i])
		}
	}
	return all
}

// peerNames are for the list of figures.
func (s spec) peerNames() string {
	if len(s.peers) == 0 || s.ratio {
		return noPeer
	}
	var names []string
	for _, p := range s.peers {
		names = append(names, p.name)
	}
	return strings.Join(names, " or ")
}

// withRatio returns a figure and, as a figure of its own, its ratio to the peer, which has the
// goal.
func withRatio(s spec) []spec {
	ratio := s
	ratio.name, ratio.unit, ratio.ratio = s.name+"-ratio", times, true
	s.goal = ""
	return []spec{s, ratio}
}

// tails returns the median and the 99th percentile of a series of times, named after it.
func tails(series, goal string) []spec {
	return []spec{
		{name: series + "-p50", unit: milliseconds, of: series, goal: goal},
		{name: series + "-p99", unit: milliseconds, of: series, at: p99},
	}
}

// samples are what rounds measured, one number a round, in their order.
type samples []float64

// quantile returns the smallest sample that at least the share q of all samples do not exceed (the
// nearest-rank method): a number that was measured, never one between two. It is 0 for no samples.
func (s samples) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(q * float64(len(s))))
	return sorted[max(rank, 1)-1]
}

func (s samples) median() float64 { return s.quantile(0.5) }
func (s samples) spread() float64 { return s.quantile(0.9) - s.quantile(0.1) }

func (s samples) mean() float64 {
	var sum float64
	for _, x := range s {
		sum += x
	}
	return sum / float64(max(len(s), 1))
}
