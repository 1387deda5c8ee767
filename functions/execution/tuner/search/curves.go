package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/runner"
)

// maxMetrics is how many metrics a log's entry holds of a try, besides its curves and its
// objectives.
const maxMetrics = 100

// Curves are a try's reports of the study's objectives, step by step.
type Curves map[string][]tune.Point

// Add adds a report. It leaves out values that are not numbers, because a module that continues
// after one may recover.
func (c Curves) Add(objectives []tune.Objective, step int, metrics map[string]float64) {
	for _, o := range objectives {
		value, there := metrics[o.Name]
		if !there || math.IsNaN(value) || math.IsInf(value, 0) {
			continue
		}
		curve := c[o.Name]
		// If a step is reported again, the last report counts.
		if n := len(curve); n > 0 && curve[n-1].Step >= step {
			curve = slices.DeleteFunc(curve, func(p tune.Point) bool { return p.Step >= step })
		}
		c[o.Name] = append(curve, tune.Point{Step: step, Value: value})
	}
}

// thinned returns curves of a size that fits in a log.
func (c Curves) thinned(objectives []tune.Objective) map[string][]tune.Point {
	thin := map[string][]tune.Point{}
	for _, o := range objectives {
		if curve := c[o.Name]; len(curve) > 0 {
			thin[o.Name] = o.Thin(curve)
		}
	}
	return thin
}

// Completed returns the end of a try that succeeded or was stopped early: a failure if an objective
// of the study is missing or is not a number.
func Completed(study tune.Study, trial string, c Curves, metrics map[string]float64, stopped int) tune.Ended {
	objectives := study.Config.Objectives
	if len(objectives) == 0 { // the bus has lost the log
		return tune.Ended{Trial: trial, Status: tune.Invalid, Message: NoStudy().Error()}
	}
	ended := tune.Ended{
		Trial: trial, Status: tune.Completed, Stopped: stopped,
		Curves: c.thinned(objectives), Metrics: finite(study.Config, metrics),
	}
	for _, o := range objectives {
		value, there := ended.Metrics[o.Name]
		last := value
		if curve := ended.Curves[o.Name]; len(curve) > 0 {
			last = curve[len(curve)-1].Value
		}
		if raw, there := metrics[o.Name]; there && (math.IsNaN(raw) || math.IsInf(raw, 0)) {
			return Failed(trial, fmt.Sprintf("the objective %s is %v", o.Name, raw))
		}
		if !there && len(ended.Curves[o.Name]) == 0 {
			return Failed(trial, fmt.Sprintf("the trial did not report the objective %s; it reported %s", o.Name, names(metrics)))
		}
		if !there {
			ended.Metrics[o.Name] = last
		}
	}
	if judged, there := study.Config.Judged(objectives[0], ended.Curves[objectives[0].Name]); there {
		ended.Step = judged.Step
	}
	return ended
}

func names(metrics map[string]float64) string {
	if len(metrics) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Sorted(maps.Keys(metrics)), ", ")
}

// finite returns the metrics to keep in a log: the study's objectives, and as many others as fit.
func finite(c tune.Config, metrics map[string]float64) map[string]float64 {
	kept := map[string]float64{}
	keep := func(name string) {
		if value, there := metrics[name]; there && !math.IsNaN(value) && !math.IsInf(value, 0) {
			kept[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if len(kept) < maxMetrics {
			keep(name)
		}
	}
	for _, o := range c.Objectives {
		keep(o.Name)
	}
	for _, constraint := range c.Constraints {
		keep(constraint.Name)
	}
	return kept
}

// curvesFile holds a trial's reports within the state that it leaves for another attempt. An
// attempt that resumes from the state keeps these reports; otherwise the trial would be judged
// without its first steps. The file is in the module's directory only while that is copied.
const curvesFile = ".stoker-curves.json"

// maxCurves limits the size of a trial's curves: far more than any has.
const maxCurves = 64 << 20

// openWorking opens the directory of a trial, which is <trials>/<trial>/<folder>: modules may put
// links anywhere below trials.
func openWorking(dir string) (*os.Root, error) {
	return runner.OpenFolder(filepath.Dir(filepath.Dir(dir)), dir)
}

// With puts the curves into the directory of a trial while do copies it.
func (c Curves) With(dir string, do func() error) error {
	root, err := openWorking(dir)
	if err != nil {
		return unavailable(err)
	}
	defer root.Close()
	text, err := json.Marshal(c)
	if err == nil {
		err = runner.WriteRegular(root, curvesFile, text)
	}
	if err != nil {
		return unavailable(err)
	}
	if err := do(); err != nil {
		return err
	}
	if err := root.Remove(curvesFile); err != nil {
		return unavailable(err)
	}
	return nil
}

// TakeCurves returns the curves in a state that was laid out in the directory of a trial; none if
// it has none.
func TakeCurves(dir string) Curves {
	root, err := openWorking(dir)
	if err != nil {
		return Curves{}
	}
	defer root.Close()
	text, err := runner.ReadRegular(root, curvesFile, maxCurves)
	kept := map[string][]tune.Point{}
	if err != nil || errors.Join(json.Unmarshal(text, &kept), root.Remove(curvesFile)) != nil {
		return Curves{}
	}
	return kept
}
