package transform_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/transform"
)

// BenchmarkRun transforms parsed batches of 1000 rows on one core.
func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"penguin", "taxi"} {
		b.Run(name, func(b *testing.B) {
			g, err := transform.Open(graphOf(name))
			if err != nil {
				b.Fatal(err)
			}
			raw := readSplit(b, 1000, g.Raw(), name, "examples", "Split-eval")[0]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Run(raw); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(raw.Rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
