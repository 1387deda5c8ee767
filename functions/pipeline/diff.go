package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Change is a key that differs between two pipelines.
type Change struct {
	Key  string          `json:"key"`            // its path: trainer.train_args.num_steps
	From json.RawMessage `json:"from,omitempty"` // left out: the first pipeline lacks it
	To   json.RawMessage `json:"to,omitempty"`   // left out: the second one lacks it
}

// Diff returns what differs from one pipeline to another, by key. Both have their defaults filled in: a key that was left out is the same as
// one that says its default. A list is one value.
func Diff(from, to Pipeline) ([]Change, error) {
	before, err := from.values()
	if err != nil {
		return nil, err
	}
	after, err := to.values()
	if err != nil {
		return nil, err
	}
	keys := slices.Collect(maps.Keys(before))
	for key := range after {
		if _, both := before[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	changes := []Change{}
	for _, key := range keys {
		if !bytes.Equal(before[key], after[key]) {
			changes = append(changes, Change{key, before[key], after[key]})
		}
	}
	return changes, nil
}

// values are a pipeline's values by the paths of their keys.
func (p Pipeline) values() (map[string]json.RawMessage, error) {
	text, err := p.JSON()
	if err != nil {
		return nil, err
	}
	into := map[string]json.RawMessage{}
	return into, flatten("", text, into)
}

func flatten(path string, text json.RawMessage, into map[string]json.RawMessage) error {
	if len(text) == 0 || text[0] != '{' {
		into[path] = text
		return nil
	}
	var mapping map[string]json.RawMessage
	if err := json.Unmarshal(text, &mapping); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(mapping) == 0 {
		into[path] = text
	}
	for key, value := range mapping {
		if path != "" {
			key = path + "." + key
		}
		if err := flatten(key, value, into); err != nil {
			return err
		}
	}
	return nil
}
