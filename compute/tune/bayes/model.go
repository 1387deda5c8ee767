package bayes

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune/gp"
)

// model returns a predictor from the known values of points. Small values are good, and NaN is as
// bad as the worst. Pending points count as observed, with the value that was predicted for them:
// the believer of Ginsbourger et al. 2010.
//
// The kernel is fitted to a beginning of the observations, so that it is fitted only occasionally.
func model(points gp.Points, y []float64, pending [][]float64, warp func([]float64) []float64) (*gp.Predictor, error) {
	begin := beginning(len(y))
	kernel, err := fit(thin(points, warp(y[:begin])))
	if err != nil {
		return nil, err
	}
	process, err := see(kernel, points, begin)
	if err != nil {
		return nil, err
	}
	if process, err = process.Observe(warp(y)); err != nil {
		return nil, err
	}
	for _, x := range pending {
		if process, err = process.Believe(x); err != nil {
			return nil, fmt.Errorf("pending trials: %w", err)
		}
	}
	return process.Predictor(), nil
}

// often is after how many observations a kernel is fitted again at first; later, when there are a
// twentieth more.
const often = 20

// beginning returns how many of n observations the kernel is fitted to.
func beginning(n int) int {
	fitted := min(n, often)
	for {
		next := max(fitted+1, fitted+fitted/20)
		if next > n {
			return fitted
		}
		fitted = next
	}
}

// enough is the number of observations that a kernel is fitted to, since the time of a fit grows
// with their cube.
const enough = 200

// thin keeps at most enough of the first observations, evenly.
func thin(points gp.Points, y []float64) (gp.Points, []float64) {
	if len(y) <= enough {
		return gp.Points{Rows: points.Rows[:len(y)], Nominal: points.Nominal}, y
	}
	thinned, left := gp.Points{Nominal: points.Nominal}, make([]float64, enough)
	for i := range left {
		at := i * len(y) / enough
		thinned.Rows = append(thinned.Rows, points.Rows[at])
		left[i] = y[at]
	}
	return thinned, left
}

// fit returns the kernel that suits observations best.
func fit(points gp.Points, y []float64) (gp.Kernel, error) {
	var label digest
	for i, row := range points.Rows {
		label = label.and(row...).and(y[i])
	}
	label = label.and(truths(points.Nominal)...)
	if kernel, there := remembered(&memory.kernels, label); there {
		return kernel, nil
	}
	kernel, err := gp.Fit(points, y, gp.DefaultPrior(len(points.Nominal)))
	if err != nil {
		return gp.Kernel{}, err
	}
	remember(&memory.kernels, label, kernel)
	return kernel, nil
}

// see returns a process that has observed points: the first ones at once, and each further one by
// itself, so that a caller that remembers the process of fewer points gets the same bits as one
// that starts anew.
func see(kernel gp.Kernel, points gp.Points, first int) (*gp.Process, error) {
	labels := make([]digest, len(points.Rows)+1) // digest of the process that has observed so many
	labels[0] = digest{}.and(kernel.Scales...).and(kernel.Variance, kernel.Noise, kernel.Mean).
		and(truths(points.Nominal)...).and(float64(first))
	for i, row := range points.Rows {
		labels[i+1] = labels[i].and(row...)
	}
	var process *gp.Process
	for n := len(points.Rows); n >= first && process == nil; n-- {
		process, _ = remembered(&memory.processes, labels[n])
	}
	var err error
	if process == nil {
		process, err = gp.New(kernel, gp.Points{Rows: points.Rows[:first], Nominal: points.Nominal})
	}
	for err == nil && process.Len() < len(points.Rows) {
		process, err = process.Add(points.Rows[process.Len()])
	}
	if err != nil {
		return nil, err
	}
	remember(&memory.processes, labels[len(points.Rows)], process)
	return process, nil
}

// truths returns numbers for a digest.
func truths(are []bool) []float64 {
	numbers := make([]float64, len(are))
	for i, is := range are {
		if is {
			numbers[i] = 1
		}
	}
	return numbers
}
