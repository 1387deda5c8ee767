package quality

import (
	_ "embed"
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

//go:embed cost.py
var kerasOracle string

// costSeeds is how many studies are suggested for, at each number of trials.
const costSeeds = 3

// BenchmarkSuggestion measures the CPU time of one suggestion after some trials of hartmann6, the
// mean of some studies: that of a worker that has never seen the study, and that of KerasTuner's
// Bayesian oracle for the same trials.
func BenchmarkSuggestion(b *testing.B) {
	for _, n := range []int{50, 100, 200} {
		for _, algorithm := range []string{tune.Bayesian, tune.TPE} {
			b.Run(fmt.Sprintf("%s-%d", algorithm, n), func(b *testing.B) {
				benchmarkStudies(b, n, func(seed int, trials []observation) float64 { return suggestionCPU(b, algorithm, seed, trials) })
			})
		}
		b.Run(fmt.Sprintf("keras-%d", n), func(b *testing.B) {
			peer := tftest.BenchmarkPeer(b, 1)
			benchmarkStudies(b, n, func(_ int, trials []observation) float64 { return kerasSuggestionCPU(b, peer, trials) })
		})
	}
}

func benchmarkStudies(b *testing.B, n int, cost func(seed int, trials []observation) float64) {
	b.Helper()
	var seconds float64
	for b.Loop() {
		for seed := 1; seed <= costSeeds; seed++ {
			seconds += cost(seed, randomTrials(b, n, seed))
		}
	}
	b.ReportMetric(seconds/costSeeds/float64(b.N), "cpu-s")
}

// BenchmarkSearch measures the CPU time of a suggestion over one whole search, in which each one
// has more trials to learn from, and the worker has seen the study.
func BenchmarkSearch(b *testing.B) {
	for _, algorithm := range []string{tune.Bayesian, tune.TPE} {
		for _, trials := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s-%d", algorithm, trials), func(b *testing.B) {
				before := tftest.CPUSeconds(b)
				for b.Loop() {
					if _, err := Search(hartmann6(), tune.Algorithm{Name: algorithm}, 1, trials); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((tftest.CPUSeconds(b)-before)/float64(trials*b.N), "cpu-s")
			})
		}
	}
}

func TestASuggestionIsComparedWithKerasTuners(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	err := tftest.WithPeer(t.Context(), 1, t.Output(), func(peer *tftest.Peer) error {
		trials := randomTrials(t, 8, 1)
		if ours, theirs := suggestionCPU(t, tune.Bayesian, 1, trials), kerasSuggestionCPU(t, peer, trials); ours <= 0 || theirs <= 0 {
			t.Errorf("a suggestion takes %v CPU-seconds, and %v by KerasTuner", ours, theirs)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// observation is a trial and its value.
type observation struct {
	Values space.Values `json:"values"`
	Value  float64      `json:"value"`
}

// randomTrials returns trials for any algorithm.
func randomTrials(tb testing.TB, n, seed int) (all []observation) {
	tb.Helper()
	f := hartmann6()
	for trial := range n {
		stream := space.NewStream(int64(seed), trial)
		values := f.Space.Fill(func(p space.Parameter) any { return p.At(stream.Float64(p.Name, 0)) })
		y, err := f.At(values)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, observation{values, y})
	}
	return all
}

// suggestionCPU returns the CPU time of the first suggestion after some trials.
func suggestionCPU(tb testing.TB, algorithm string, seed int, trials []observation) float64 {
	tb.Helper()
	s, err := begin(hartmann6(), tune.Algorithm{Name: algorithm}, seed, 2*len(trials), nil)
	if err != nil {
		tb.Fatal(err)
	}
	for _, t := range trials {
		if err := add(s, tune.Suggestion{Values: t.Values}, t.Value); err != nil {
			tb.Fatal(err)
		}
	}
	before := tftest.CPUSeconds(tb)
	if _, _, err := suggest.Next(s); err != nil {
		tb.Fatal(err)
	}
	return tftest.CPUSeconds(tb) - before
}

// kerasSuggestionCPU returns the same of KerasTuner.
func kerasSuggestionCPU(tb testing.TB, peer *tftest.Peer, trials []observation) float64 {
	tb.Helper()
	var ignored any
	if _, err := peer.Call(kerasOracle, "begin", map[string]any{"space": hartmann6().Space, "trials": trials}, &ignored); err != nil {
		tb.Fatal(err)
	}
	seconds, err := peer.Call(kerasOracle, "suggest", nil, &ignored)
	if err != nil {
		tb.Fatal(err)
	}
	return seconds
}
