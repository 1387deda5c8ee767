package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/functions/internal/mask"
)

// Change is a key that differs between two pipelines.
type Change struct {
	Key  string          `json:"key"`            // its path: trainer.train_args.num_steps
	From json.RawMessage `json:"from,omitempty"` // missing: not in the first pipeline
	To   json.RawMessage `json:"to,omitempty"`   // missing: not in the second pipeline
}

// Diff returns the differences between two pipelines, by key of Effective: a missing key equals one
// that sets its default. A list is one value. Secrets are compared, and hidden in the result.
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
		if !bytes.Equal(before[key].json, after[key].json) {
			changes = append(changes, Change{key, before[key].masked(), after[key].masked()})
		}
	}
	return changes, nil
}

// leaf is a value of a pipeline that is not a mapping.
type leaf struct {
	json   json.RawMessage
	secret bool // a key on its path has the name of a secret
}

// masked returns nil for a missing value.
func (l leaf) masked() json.RawMessage {
	switch {
	case l.json == nil:
		return nil
	case l.secret:
		return mask.Secret(l.json)
	}
	return mask.JSON(l.json)
}

// values returns a pipeline's effective values by the paths of their keys.
func (p Pipeline) values() (map[string]leaf, error) {
	text, err := p.Effective()
	if err != nil {
		return nil, err
	}
	into := map[string]leaf{}
	return into, flatten("", leaf{json: text}, into)
}

func flatten(path string, value leaf, into map[string]leaf) error {
	if len(value.json) == 0 || value.json[0] != '{' {
		into[path] = value
		return nil
	}
	var mapping map[string]json.RawMessage
	if err := json.Unmarshal(value.json, &mapping); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(mapping) == 0 {
		into[path] = value
	}
	for name, inner := range mapping {
		key := name
		if path != "" {
			key = path + "." + name
		}
		if err := flatten(key, leaf{inner, value.secret || mask.Name(name)}, into); err != nil {
			return err
		}
	}
	return nil
}
