package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Hyperparameters is the result of a Tuner: KerasTuner's config of the best trial.
type Hyperparameters struct {
	Values map[string]any `json:"values"`
	Space  []Dimension    `json:"space"`
}

// Dimension is one hyperparameter of a search space.
type Dimension struct {
	Name   string         `json:"name"`
	Class  string         `json:"class"` // Int, Float, Choice, Boolean, Fixed
	Config map[string]any `json:"config"`
}

// TunerResults has all trials, the best first.
type TunerResults struct {
	Trials []map[string]any `json:"trials"` // trial_id, score, and the values by name
}

func inspectHyperparameters(ctx context.Context, s *Source) (*Hyperparameters, error) {
	var file struct {
		Space []struct {
			Class  string         `json:"class_name"`
			Config map[string]any `json:"config"`
		} `json:"space"`
		Values map[string]any `json:"values"`
	}
	if err := s.readJSON(ctx, hyperparametersFile, &file); err != nil {
		return nil, err
	}
	if file.Values == nil {
		return nil, fmt.Errorf("%s: expected an object with space and values", hyperparametersFile)
	}
	h := &Hyperparameters{Values: file.Values, Space: []Dimension{}}
	for _, d := range file.Space {
		name, _ := d.Config["name"].(string)
		h.Space = append(h.Space, Dimension{name, d.Class, d.Config})
	}
	return h, nil
}

func inspectTunerResults(ctx context.Context, s *Source) (*TunerResults, error) {
	r := &TunerResults{}
	if err := s.readJSON(ctx, tunerResultsFile, &r.Trials); err != nil {
		return nil, err
	}
	return r, nil
}

// readJSON reads the file of that name, or the only one. Python writes NaN and infinities, which
// JSON does not have: they become null.
func (s *Source) readJSON(ctx context.Context, name string, into any) error {
	if s.single {
		name = s.Files[0].Path
	}
	data, err := s.read(ctx, name, maxMetadata)
	if err != nil {
		return err
	}
	err = json.Unmarshal(data, into)
	if err != nil {
		plain := strings.NewReplacer(": NaN", ": null", ": Infinity", ": null", ": -Infinity", ": null").Replace(string(data))
		err = json.Unmarshal([]byte(plain), into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
