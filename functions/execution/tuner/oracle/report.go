package oracle

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
)

// report holds what the current try at a trial has reported. It holds nothing of earlier tries.
type report struct {
	// From UpdateTrial: for each metric a value of each execution.
	steps  map[int]map[string][]float64
	curves map[string][]tune.Point // by epoch
	halted int                     // the epoch at which the try had to end; 0: it need not
}

func newReport() *report {
	return &report{steps: map[int]map[string][]float64{}, curves: map[string][]tune.Point{}}
}

// add adds the values of an UpdateTrial. Several values at a step are of several executions, and
// their mean counts.
func (r *report) add(step int, metrics map[string]float64) {
	at := r.steps[step]
	if at == nil {
		at = map[string][]float64{}
		r.steps[step] = at
	}
	for name, value := range metrics {
		at[name] = append(at[name], value)
	}
}

// copied returns a copy of the curves so far.
func (r *report) copied() map[string][]tune.Point {
	curves := map[string][]tune.Point{}
	for name, curve := range r.curves {
		curves[name] = slices.Clone(curve)
	}
	return curves
}

// hear adds values at the end of an epoch. An epoch that was reported before belongs to another
// execution, which has its own curve.
func (r *report) hear(step int, metrics map[string]float64) {
	for name, value := range metrics {
		curve := r.curves[name]
		if len(curve) > 0 && curve[len(curve)-1].Step >= step {
			curve = nil
		}
		if finite(value) {
			r.curves[name] = append(curve, tune.Point{Step: step, Value: value})
		}
	}
}

// ended returns the end of a try that its tuner calls complete.
func (r *report) ended(trial string, objectives []tune.Objective) tune.Ended {
	for _, o := range objectives {
		if best, there := o.Best(r.reported(o.Name)); !there || !finite(best.Value) {
			return tune.Ended{Trial: trial, Status: tune.Failed, Message: r.lacks(o.Name)}
		}
	}
	first := objectives[0]
	best, _ := first.Best(r.reported(first.Name))
	e := tune.Ended{
		Trial: trial, Status: tune.Completed, Metrics: r.at(best.Step), Curves: r.judged(objectives), Step: best.Step, Stopped: r.halted,
	}
	if p, there := first.Best(e.Curves[first.Name]); there {
		e.Step = p.Step
	}
	return e
}

// byMetric returns the values of UpdateTrial, by metric and step.
func (r *report) byMetric() map[string]map[int][]float64 {
	metrics := map[string]map[int][]float64{}
	for step, at := range r.steps {
		for name, values := range at {
			if metrics[name] == nil {
				metrics[name] = map[int][]float64{}
			}
			metrics[name][step] = values
		}
	}
	return metrics
}

// reported returns a metric of UpdateTrial, in the order of its steps.
func (r *report) reported(name string) (points []tune.Point) {
	for _, step := range slices.Sorted(maps.Keys(r.steps)) {
		if values := r.steps[step][name]; len(values) > 0 {
			points = append(points, tune.Point{Step: step, Value: mean(values)})
		}
	}
	return points
}

// at returns the metrics of a step that are numbers.
func (r *report) at(step int) map[string]float64 {
	metrics := map[string]float64{}
	for name, values := range r.steps[step] {
		if value := mean(values); finite(value) {
			metrics[name] = value
		}
	}
	return metrics
}

// judged returns the objectives' curves for the log. A try is judged by the value that its tuner
// reports. If that is not the best epoch of a curve, as with the mean of several executions or the
// value of a custom run_trial, the curve is not that of the objective.
func (r *report) judged(objectives []tune.Objective) map[string][]tune.Point {
	curves := map[string][]tune.Point{}
	for _, o := range objectives {
		reported, _ := o.Best(r.reported(o.Name))
		if best, there := o.Best(r.curves[o.Name]); there && best.Value == reported.Value {
			curves[o.Name] = o.Thin(r.curves[o.Name])
		}
	}
	return curves
}

// lacks explains why an objective has no score.
func (r *report) lacks(objective string) string {
	if points := r.reported(objective); len(points) > 0 {
		return fmt.Sprintf("objective %s: expected a number, got %v", objective, points[len(points)-1].Value)
	}
	return fmt.Sprintf("objective %s: the tuner reported no value of it", objective)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}

func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
