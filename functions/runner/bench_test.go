package runner_test

import (
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// The time from Run to the first word of the module's own code, by a new process and by an idle one. The process is this
// test's binary: a real one has more to load.
func BenchmarkFirstWord(b *testing.B) {
	for name, warm := range map[string]int{"new": 0, "idle": 1} {
		b.Run(name, func(b *testing.B) {
			host := newRunner(b, warm)
			a := assignment(b, "succeed")
			var first time.Duration
			for b.Loop() {
				started, heard := time.Now(), false
				_, err := host.Run(b.Context(), a, runner.Limits{}, func(module.Message) {
					if !heard {
						heard, first = true, first+time.Since(started)
					}
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(first.Microseconds())/1000/float64(b.N), "ms/first-word")
		})
	}
}

// The time of one assignment of a session whose module has nothing to do: what a trial costs besides its training.
func BenchmarkSession(b *testing.B) {
	s, err := newRunner(b, 0).Open(b.Context(), module.Source{Path: "builtin:test"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	a := assignment(b, "succeed")
	for b.Loop() {
		if _, err := s.Run(b.Context(), a, runner.Limits{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
