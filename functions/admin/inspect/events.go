package inspect

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/stoker-ml/stoker/compute/tfevents"
)

// Events is the content of event files.
type Events struct {
	Runs     []Run `json:"runs"`
	Complete bool  `json:"complete"` // false: the limit was reached, and there are more events
	Read     int64 `json:"read"`     // bytes of files that were read
}

// Run is one run of a log.
type Run struct {
	Name            string         `json:"name"`
	Files           int            `json:"files"`
	Cut             bool           `json:"cut,omitempty"` // the last file ends within an event
	Tags            []Tag          `json:"tags"`
	Hyperparameters map[string]any `json:"hyperparameters,omitempty"`
	Status          string         `json:"status,omitempty"` // of a session of the HParams plugin
}

// Tag is one series of a run.
type Tag struct {
	Tag    string    `json:"tag"`
	Kind   string    `json:"kind"` // scalar, histogram, text, or the plugin's name
	Points int       `json:"points"`
	First  int64     `json:"first_step"`
	Last   int64     `json:"last_step"`
	Value  any       `json:"value,omitempty"` // the last value: a scalar, or text
	Time   time.Time `json:"time"`
}

var statuses = map[tfevents.Status]string{
	tfevents.StatusUnknown: "unknown", tfevents.StatusSuccess: "success", tfevents.StatusFailure: "failure", tfevents.StatusRunning: "running",
}

func inspectEvents(ctx context.Context, s *Source, o Options) (*Events, error) {
	var log tfevents.Log
	budget := o.budget()
	e := &Events{Runs: []Run{}, Complete: true}
	for _, f := range s.Files {
		if !s.single && !tfevents.IsEventFile(f.Path) {
			continue
		}
		err := s.readEvents(ctx, f.Path, &log, budget)
		if errors.Is(err, errLimit) {
			e.Complete = false
			break
		}
		if err != nil {
			return nil, err
		}
	}
	e.Read = budget.read
	for _, r := range log.Runs() {
		e.Runs = append(e.Runs, describeRun(r))
	}
	return e, nil
}

func (s *Source) readEvents(ctx context.Context, name string, log *tfevents.Log, budget *budget) error {
	in, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	return log.Read(path.Dir(name), tfevents.NewReader(name, budget.reader(in)))
}

func describeRun(r *tfevents.Run) Run {
	run := Run{Name: r.Name, Files: r.Files, Cut: r.Cut, Tags: []Tag{}}
	for _, s := range r.Series() {
		last := s.Last()
		tag := Tag{Tag: s.Tag, Kind: string(s.Kind), Points: s.Count, First: s.Points[0].Step, Last: last.Step, Time: last.Time}
		switch s.Kind {
		case tfevents.KindScalar:
			tag.Value = number(last.Scalar, 32)
		case tfevents.KindText:
			tag.Value = last.Text
		case tfevents.KindOther:
			tag.Kind = s.Plugin
		}
		run.Tags = append(run.Tags, tag)
	}
	if r.Session != nil {
		run.Hyperparameters, run.Status = r.Session.Values, statuses[tfevents.StatusRunning]
		for name, value := range run.Hyperparameters {
			if x, ok := value.(float64); ok {
				run.Hyperparameters[name] = number(x, 64)
			}
		}
	}
	if r.End != nil {
		run.Status = statuses[r.End.Status]
	}
	return run
}
