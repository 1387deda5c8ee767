package tfevents_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tfevents"
)

// BenchmarkScalar measures one logged number.
func BenchmarkScalar(b *testing.B) {
	w := open(b, b.TempDir(), 0)
	b.ReportAllocs()
	for step := int64(1); b.Loop(); step++ {
		ok(b, w.Scalar(step, "batch_loss", 0.5))
	}
	ok(b, w.Close())
}

// BenchmarkStep measures the cost of the log for a step of a training: most steps write nothing.
func BenchmarkStep(b *testing.B) {
	l := tfevents.NewTraining(tfevents.TrainingOptions{Dir: b.TempDir(), EpochRows: 10_000, BatchSize: 32})
	b.ReportAllocs()
	for step := int64(1); b.Loop(); step++ {
		ok(b, l.Step(step, 0.5))
	}
	ok(b, l.Close())
}

// BenchmarkHistogram measures one tensor of 65,536 weights.
func BenchmarkHistogram(b *testing.B) {
	w := open(b, b.TempDir(), 0)
	values := make([]float32, 1<<16)
	for i := range values {
		values[i] = float32(i%1000) / 1000
	}
	for step := int64(1); b.Loop(); step++ {
		ok(b, w.Histogram(step, "kernel/histogram", values))
	}
	ok(b, w.Close())
}

// BenchmarkLoad measures reading 100,000 scalars.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	w := open(b, dir, 0)
	for step := range int64(100_000) {
		ok(b, w.Scalar(step, "batch_loss", 0.5))
	}
	ok(b, w.Close())
	for b.Loop() {
		load(b, dir)
	}
}
