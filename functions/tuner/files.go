package tuner

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// readBest parses what KerasTuner's HyperParameters.get_config returns: the space, a list of parameters, and the values
// of the best trial. Hyperband has values that are not of the space.
func readBest(text []byte) (map[string]any, error) {
	var best struct {
		Space  *[]parameter    `json:"space"`
		Values *map[string]any `json:"values"`
	}
	if err := json.Unmarshal(text, &best); err != nil {
		return nil, err
	}
	switch {
	case best.Space == nil:
		return nil, errors.New(`no "space" in it: expected what get_config of KerasTuner's HyperParameters returns`)
	case best.Values == nil || *best.Values == nil:
		return nil, errors.New(`no "values" in it: expected what get_config of KerasTuner's HyperParameters returns`)
	}
	for i, p := range *best.Space {
		if p.Class == "" || p.Config.Name == "" {
			return nil, fmt.Errorf("space[%d]: expected a parameter with its class_name and the name in its config", i)
		}
	}
	for name, value := range *best.Values {
		switch value.(type) {
		case string, float64, bool:
		default:
			return nil, fmt.Errorf("values: %s: expected a number, a text or a truth, got %T", name, value)
		}
	}
	return *best.Values, nil
}

// parameter is one of a search space, by Keras's way of writing objects.
type parameter struct {
	Class  string `json:"class_name"`
	Config struct {
		Name string `json:"name"`
	} `json:"config"`
}

// readResults parses TFX's list of completed trials into their scores, the best first. Whether more or less is better
// the file does not say, but the scores go one way.
func readResults(text []byte) (scores []float64, err error) {
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("no trial in it was completed")
	}
	for i, trial := range list {
		_, named := trial["trial_id"].(string)
		score, scored := trial["score"].(float64)
		if !named || !scored {
			return nil, fmt.Errorf("trial %d: expected its trial_id, a text, and its score, a number", i)
		}
		scores = append(scores, score)
	}
	if at := turn(scores); at >= 0 {
		return nil, fmt.Errorf("trial %d: its score is %v: expected the trials best first", at, scores[at])
	}
	return scores, nil
}

// turn is where the scores begin to go the other way; -1 if they never do.
func turn(scores []float64) int {
	direction := 0.0
	for i := 1; i < len(scores); i++ {
		step := scores[i] - scores[i-1]
		if step*direction < 0 {
			return i
		}
		if step != 0 {
			direction = math.Copysign(1, step)
		}
	}
	return -1
}
