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

// maxMetrics is what a log's entry holds of a try, at most, next to its curves and what it is
// judged by.
const maxMetrics = 100

// Curves are what a try reports of the study's objectives, step by step.
type Curves map[string][]tune.Point

// Add takes a report. What is no number is left out: a module that goes on after one may yet find
// its way back.
func (c Curves) Add(objectives []tune.Objective, step int, metrics map[string]float64) {
	for _, o := range objectives {
		value, there := metrics[o.Name]
		if !there || math.IsNaN(value) || math.IsInf(value, 0) {
			continue
		}
		curve := c[o.Name]
		if n := len(curve); n > 0 && curve[n-1].Step >= step { // of a step that is reported again the last report counts
			curve = slices.DeleteFunc(curve, func(p tune.Point) bool { return p.Step >= step })
		}
		c[o.Name] = append(curve, tune.Point{Step: step, Value: value})
	}
}

// thinned are curves that a log should hold.
func (c Curves) thinned(objectives []tune.Objective) map[string][]tune.Point {
	thin := map[string][]tune.Point{}
	for _, o := range objectives {
		if curve := c[o.Name]; len(curve) > 0 {
			thin[o.Name] = o.Thin(curve)
		}
	}
	return thin
}

// Completed is the end of a try that went well, or was stopped early: a failure if what the study
// is about is missing or no number.
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
			return Failed(trial, fmt.Sprintf("%s, which the study is about, is %v", o.Name, raw))
		}
		if !there && len(ended.Curves[o.Name]) == 0 {
			return Failed(trial, fmt.Sprintf("the trial reported no %s, which is an objective; it reported %s", o.Name, names(metrics)))
		}
		if !there {
			ended.Metrics[o.Name] = last
		}
	}
	if best, there := objectives[0].Best(ended.Curves[objectives[0].Name]); there {
		ended.Step = best.Step
	}
	return ended
}

func names(metrics map[string]float64) string {
	if len(metrics) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Sorted(maps.Keys(metrics)), ", ")
}

// finite are the metrics that a log holds: those that the study is judged by, and as many others as
// fit.
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

// curvesFile is in what a trial leaves for another attempt at it: what it had reported by then. An
// attempt that resumes from the state keeps these reports, or the trial would be judged without its
// first steps. It is in the module's folder only while that is copied.
const curvesFile = ".stoker-curves.json"

// maxCurves is what the curves of a trial take, at most: far more than any report.
const maxCurves = 64 << 20

// openWorking opens the folder of a trial, which is <trials>/<trial>/<folder>: below trials,
// modules may put links.
func openWorking(dir string) (*os.Root, error) {
	return runner.OpenFolder(filepath.Dir(filepath.Dir(dir)), dir)
}

// With has the curves in the folder of a trial while do copies it.
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

// TakeCurves are those that came with a state which was laid out in the folder of a trial; none if
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
