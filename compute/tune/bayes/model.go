package bayes

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune/gp"
)

// model is a predictor of what is known of points by numbers, small ones being good, NaN ones as
// bad as the worst. Pending points are as sure as those that were seen, and what is expected of
// them is what was before: the believer of Ginsbourger et al. 2010.
//
// The kernel is the one that suits a beginning of what was seen, so that it is fitted now and then
// only.
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

// often is how many observations a kernel is fitted to each time; from there on when there are a
// twentieth more.
const often = 20

// beginning is how many of n observations the kernel is fitted to.
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

// enough is how many observations say as much of a kernel as any number.
const enough = 300

// thin leaves at most enough of the first observations, evenly.
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

// fit is the kernel that suits observations best.
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

// see is a process that has seen points: the first ones at once, and each one more by itself, so
// that whoever remembers the process of a few points less comes to the same bits as whoever begins
// anew.
func see(kernel gp.Kernel, points gp.Points, first int) (*gp.Process, error) {
	labels := make([]digest, len(points.Rows)+1) // of the process that has seen so many
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

// truths are numbers for a digest.
func truths(are []bool) []float64 {
	numbers := make([]float64, len(are))
	for i, is := range are {
		if is {
			numbers[i] = 1
		}
	}
	return numbers
}
