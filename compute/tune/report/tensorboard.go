package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// scoreTag is the tag of a trial's score: the best of its curve, because TensorBoard compares last
// values.
const scoreTag = "score"

// TensorBoard writes the files for TensorBoard's HParams page: the experiment in the directory
// itself, and a session in a directory for each trial, with its values, curves and metrics. If
// there are more than most trials it writes the best, and then those that were begun first; 0 is no
// limit. Equal studies give equal files.
func TensorBoard(dir string, s *tune.Study, most int) error {
	w, err := open(dir, s.Begun)
	if err != nil {
		return err
	}
	if err := errors.Join(w.Experiment(experiment(s)), w.Close()); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	for _, t := range chosen(s, most) {
		if err := session(filepath.Join(dir, t.ID), s, t); err != nil {
			return fmt.Errorf("trial %s: %w", t.ID, err)
		}
	}
	return nil
}

// open begins an event file that depends only on the study: not on the time or the machine.
func open(dir string, at time.Time) (*tfevents.Writer, error) {
	return tfevents.Open(dir, tfevents.Options{Now: func() time.Time { return at }, Host: "study", PID: 1})
}

func chosen(s *tune.Study, most int) []*tune.Trial {
	if most == 0 || len(s.Trials) <= most {
		return s.Trials
	}
	trials := s.Best()
	for _, t := range s.Trials {
		if !slices.Contains(trials, t) {
			trials = append(trials, t)
		}
	}
	return trials[:most]
}

// experiment returns the page's columns: the parameters with their domains, the score, and the
// objectives.
func experiment(s *tune.Study) tfevents.Experiment {
	e := tfevents.Experiment{Created: s.Begun, Metrics: []tfevents.Metric{{Tag: scoreTag}}}
	seen := map[string]bool{}
	for _, p := range s.Config.Space {
		if !seen[p.Name] {
			e.HParams = append(e.HParams, column(s.Config.Space, p))
		}
		seen[p.Name] = true
	}
	for _, t := range s.Trials {
		for _, value := range t.Values {
			if !seen[value.Name] { // Hyperband's own values
				e.HParams = append(e.HParams, tfevents.HParam{Name: value.Name})
			}
			seen[value.Name] = true
		}
	}
	for _, o := range s.Config.Objectives {
		if o.Name != scoreTag {
			e.Metrics = append(e.Metrics, tfevents.Metric{Tag: o.Name})
		}
	}
	return e
}

// column returns the column of a parameter; if another one has its name under other conditions, it
// has no domain.
func column(s space.Space, p space.Parameter) tfevents.HParam {
	h := tfevents.HParam{Name: p.Name}
	if slices.ContainsFunc(s, func(q space.Parameter) bool { return q.Name == p.Name && !alike(p, q) }) {
		return h
	}
	switch p.Kind {
	case space.Int, space.Float:
		h.Range = &tfevents.Range{Min: p.Min, Max: p.Max}
	default:
		h.Values = p.List()
	}
	return h
}

// alike reports whether two parameters take the same values.
func alike(p, q space.Parameter) bool {
	p.Conditions, q.Conditions, p.Default, q.Default = nil, nil, nil, nil
	return reflect.DeepEqual(p, q)
}

// session writes the session of one trial.
func session(dir string, s *tune.Study, t *tune.Trial) error {
	at := t.Ended
	if at.IsZero() {
		at = t.Started
	}
	w, err := open(dir, at)
	if err != nil {
		return err
	}
	err = w.StartSession(tfevents.Session{Group: t.ID, Values: t.Values.Map(), Start: t.Started})
	for _, point := range points(s, t) {
		err = errors.Join(err, w.Scalar(int64(point.Step), point.tag, point.Value))
	}
	switch t.Status {
	case tune.Completed:
		err = errors.Join(err, w.EndSession(tfevents.StatusSuccess))
	case tune.Failed, tune.Infeasible:
		err = errors.Join(err, w.EndSession(tfevents.StatusFailure))
	}
	return errors.Join(err, w.Close())
}

type tagged struct {
	tag string
	tune.Point
}

// points returns a trial's curves, then the values of metrics without a curve, and the score, all
// after the last step.
func points(s *tune.Study, t *tune.Trial) (all []tagged) {
	last := t.Step
	for _, name := range sorted(t.Curves) {
		for _, p := range t.Curves[name] {
			all = append(all, tagged{name, p})
			last = max(last, p.Step)
		}
	}
	for _, name := range sorted(t.Metrics) {
		if len(t.Curves[name]) == 0 && name != scoreTag {
			all = append(all, tagged{name, tune.Point{Step: last, Value: t.Metrics[name]}})
		}
	}
	if score, there := s.Score(t); there && t.Status == tune.Completed {
		all = append(all, tagged{scoreTag, tune.Point{Step: last, Value: score}})
	}
	return all
}
