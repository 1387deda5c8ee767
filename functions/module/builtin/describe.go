package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/functions/module"
)

// effective returns the settings of a training with this configuration, in the terms of
// custom_config. Package training adds the loop's own values.
func (c config) effective(name string, d dataset, n network) (map[string]any, error) {
	text, err := json.Marshal(c)
	all := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, err
	}
	// Keys that are present under another name, or have no effect.
	for _, key := range []string{"label_key", "space", "exclude_features"} {
		delete(all, key)
	}
	var features []string
	for _, f := range d.inputs {
		features = append(features, f.Name)
	}
	maps.Copy(all, map[string]any{
		"module": module.BuiltinPrefix + name, "features": features, "task": n.task, "normalize": d.normalized(),
	})
	return all, nil
}

// normalized returns the methods by which raw numbers are scaled, by feature; nil if there are
// none.
func (d dataset) normalized() any {
	if d.transformed || !slices.ContainsFunc(d.inputs, isNumber) {
		return nil
	}
	methods := map[string]string{}
	for _, f := range d.inputs {
		if isNumber(f) {
			methods[f.Name] = map[bool]string{true: minmax, false: zscore}[d.ranged[f.Name]]
		}
	}
	return methods
}

// logged are the keys of the configuration that affect the training.
var logged = []string{
	"activation", "batch_normalization", "batch_size", "clip_norm", "clip_value", "cross_buckets", "dropout", "embedding_dim", "epochs",
	"global_clip_norm", "hash_buckets", "hidden_units", "huber_delta", "initializer", "l1", "l2", "label", "label_smoothing", "learning_rate",
	"linear_learning_rate", "linear_optimizer", "loss", "optimizer", "seed", "task",
}

// describe returns the configuration as hyperparameters of the run log, with lists as JSON, and as
// Markdown.
func (c config) describe(name string) (values map[string]any, markdown string) {
	text, err := json.MarshalIndent(c, "", "  ")
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		panic(err) // a struct of numbers, text and lists of numbers
	}
	values = map[string]any{"module": module.BuiltinPrefix + name}
	for _, key := range logged {
		value, ok := all[key]
		if !ok {
			continue // of another module
		}
		switch value := value.(type) {
		case nil:
			values[key] = "[]"
		case []any:
			list, _ := json.Marshal(value) // it was just decoded from JSON
			values[key] = string(list)
		case string:
			if value != "" {
				values[key] = value
			}
		default:
			values[key] = value
		}
	}
	return values, fmt.Sprintf("%s%s\n\n```json\n%s\n```\n", module.BuiltinPrefix, name, text)
}
