package kernel

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkGemm measures one thread, by the processor's time, which depends less on other work of
// the machine.
func BenchmarkGemm(b *testing.B) {
	for _, isa := range isas() {
		for _, s := range []struct {
			m, k, n int
			p       Product
		}{
			{512, 512, 512, Product{}},
			{256, 512, 256, Product{}},
			{256, 256, 512, Product{}},
			{256, 256, 64, Product{}},
			{256, 256, 512, Product{TransA: true}},
			{512, 256, 256, Product{TransA: true}},
			{256, 512, 256, Product{TransB: true}},
			{1024, 1024, 1024, Product{}},
			{256, 64, 1, Product{}},
			{64, 256, 1, Product{TransA: true}},
			{256, 1, 64, Product{}},
			{20, 4, 8, Product{Bias: make([]float32, 8), Then: Relu}},
			{20, 8, 8, Product{}},
			{20, 8, 3, Product{}},
			{4, 20, 8, Product{TransA: true}},
			{20, 3, 8, Product{TransB: true}},
		} {
			g := newGemmCase(rand.New(rand.NewPCG(1, 2)), s.m, s.k, s.n, s.p, 0)
			b.Run(fmt.Sprintf("%v/%dx%dx%d/%v%v", isa, s.m, s.k, s.n, s.p.TransA, s.p.TransB), func(b *testing.B) {
				b.ReportAllocs()
				before := processorTime()
				for b.Loop() {
					multiply(nil, isa, g.c, g.a, g.b, g.p)
				}
				seconds := (processorTime() - before).Seconds()
				b.ReportMetric(2*float64(s.m*s.k*s.n)*float64(b.N)/seconds/1e9, "GFLOP/cpu-s")
				b.ReportMetric(seconds*1e9/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
