package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
)

//go:embed compute_sgemm.py
var sgemmScript string

// gigaflopsPerCPU is a unit: 10^9 additions and multiplications a CPU-second.
const gigaflopsPerCPU = "GFLOP/CPU-s"

// sgemmRounds are many and short: who shares a core with us shares its units too, and comes and
// goes within seconds.
const sgemmRounds = 25

// product is a product of matrices [m,k] x [k,n], done so many times a round, for about a tenth of
// a second.
type product struct {
	M     int `json:"m"`
	K     int `json:"k"`
	N     int `json:"n"`
	Times int `json:"times"`
}

func products() []product { return []product{{512, 512, 512, 30}, {256, 512, 256, 120}} }

// flop is what one product takes: an addition and a multiplication for each term of each sum.
func (p product) flop() float64 { return 2 * float64(p.M) * float64(p.K) * float64(p.N) }

func (p product) gigaflops(seconds float64) float64 {
	return p.flop() * float64(p.Times) / seconds / 1e9
}

// sgemm measures products on one thread compared with OpenBLAS, and with a loop of fused
// multiply-adds.
func (b bench) sgemm(ctx context.Context) (all []figure, err error) {
	peak, err := peakOf(kernel.CurrentLevel())
	if err != nil {
		return nil, err
	}
	err = withTensorFlow(ctx, 1, b.log, func(peer *tensorflow) error {
		var blas string
		if _, err := peer.call(sgemmScript, "blas", nil, &blas); err != nil {
			return err
		}
		for _, p := range products() {
			figures, err := p.rounds(ctx, peer, blas, peak, b.times(sgemmRounds))
			if err != nil {
				return err
			}
			all = append(all, figures...)
		}
		return nil
	}, "OPENBLAS_NUM_THREADS=1")
	return all, err
}

// rounds multiplies by us, by the peer, and runs the loop, in turn.
func (p product) rounds(ctx context.Context, peer *tensorflow, blas string, peak peakLoop, rounds int) ([]figure, error) {
	multiply := p.ours()
	multiply()
	const peakName = "peak"
	m, err := compare(ctx, rounds, false,
		contender{oursName, func(int) (float64, error) {
			seconds, err := cpuOf(func() error { multiply(); return nil })
			return p.gigaflops(seconds), err
		}},
		contender{peerName, func(int) (float64, error) {
			var c cost
			_, err := peer.call(sgemmScript, "product", p, &c)
			return p.gigaflops(c.CPU), err
		}},
		contender{peakName, func(int) (float64, error) { return peak.gigaflops() }})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("sgemm-%dx%dx%d", p.M, p.K, p.N)
	ofTheirs, ofPeak := m.ratios(oursName, peerName), m.ratios(oursName, peakName)
	return []figure{
		alone(name, gigaflopsPerCPU, m[oursName].quantile(0.5), m[oursName], "").faster(blas, rounded(m[peerName].quantile(0.5))),
		alone(name+"-ratio", times, ofTheirs.quantile(0.5), ofTheirs, "> 0.9"),
		alone(name+"-of-peak", fraction, ofPeak.quantile(0.5), ofPeak, "> 0.75"),
		alone(name+"-peak", gigaflopsPerCPU, m[peakName].quantile(0.5), m[peakName], ""),
	}, nil
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
	team := kernel.NewTeam(1)
	return func() {
		for range p.Times {
			team.Gemm(kernel.NewMatrix(c, p.M, p.N), kernel.NewMatrix(a, p.M, p.K), kernel.NewMatrix(b, p.K, p.N), kernel.Product{})
		}
	}
}
