package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed sgemm.py
var sgemmScript string

// product is a product of matrices [m,k] x [k,n], done so many times a round, for about a tenth of
// a second.
type product struct {
	M     int `json:"m"`
	K     int `json:"k"`
	N     int `json:"n"`
	Times int `json:"times"`
}

// sgemmPart measures products on one thread compared with those of NumPy, whose BLAS is OpenBLAS,
// and with a loop of fused multiply-adds.
func sgemmPart() part {
	var groups []group
	for _, p := range []product{{512, 512, 512, 30}, {256, 512, 256, 120}} {
		groups = append(groups, p.group())
	}
	return part{"sgemm", groups}
}

func (p product) group() group {
	name := fmt.Sprintf("sgemm-%dx%dx%d", p.M, p.K, p.N)
	ours := spec{name: name, unit: gigaflopsPerCPU, of: "ours", goal: "> 0.9", more: true, peers: []peer{{name: "NumPy with OpenBLAS", series: "blas"}}}
	return group{
		rounds: 25, // many and short: other programs on the core come and go within seconds
		figures: append(withRatio(ours),
			spec{name: name + "-of-peak", unit: fraction, of: "ours", goal: "> 0.75", more: true, ratio: true, peers: []peer{{name: "peak", series: "peak"}}},
			spec{name: name + "-peak", unit: gigaflopsPerCPU, of: "peak"}),
		setup: p.race,
	}
}

// race has us, the peer and the loop compute in turn.
func (p product) race(ctx context.Context, b bench, r *recorder) error {
	peak, ok := peakLoops()[kernel.CurrentISA()]
	if !ok {
		return fmt.Errorf("no peak loop is written for kernels with %v", kernel.CurrentISA())
	}
	multiply := p.ours()
	multiply()
	return tftest.WithPeer(ctx, 1, b.log, func(peer *tftest.Peer) error {
		var blas string
		if _, err := peer.Call(sgemmScript, "blas", nil, &blas); err != nil {
			return err
		}
		r.peerNames["blas"] = blas
		return r.run(ctx,
			func(int) error {
				seconds, err := cpuOf(func() error { multiply(); return nil })
				r.add("ours", p.gigaflops(seconds))
				return err
			},
			func(int) error {
				var c cost
				_, err := peer.Call(sgemmScript, "product", p, &c)
				r.add("blas", p.gigaflops(c.CPU))
				return err
			},
			func(int) error {
				seconds, err := cpuOf(func() error { peak.run(peakIterations); return nil })
				r.add("peak", float64(peak.flopIteration)*peakIterations/seconds/1e9)
				return err
			})
	}, "OPENBLAS_NUM_THREADS=1")
}

// gigaflops returns the rate of a round: a term of a sum takes an addition and a multiplication.
func (p product) gigaflops(seconds float64) float64 {
	return 2 * float64(p.M) * float64(p.K) * float64(p.N) * float64(p.Times) / seconds / 1e9
}

// ours does the products of a round, on one thread.
func (p product) ours() (multiply func()) {
	a, b, c := make([]float32, p.M*p.K), make([]float32, p.K*p.N), make([]float32, p.M*p.N)
	for i := range a {
		a[i] = float32(i%7) - 3
	}
	for i := range b {
		b[i] = float32(i%5) - 2
	}
	pool := kernel.NewThreadPool(1)
	return func() {
		for range p.Times {
			pool.Gemm(kernel.NewMatrix(c, p.M, p.N), kernel.NewMatrix(a, p.M, p.K), kernel.NewMatrix(b, p.K, p.N), kernel.Product{})
		}
	}
}

// peakIterations make a loop of some tens of milliseconds.
const peakIterations = 20_000_000

// peakLoop is a loop of fused multiply-adds without memory accesses and without waiting: no product
// can be faster.
type peakLoop struct {
	run           func(iterations int)
	flopIteration int // operations in an iteration: registers x numbers in a register x 2
}
