package builtin

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// effective is what a training uses, in custom_config's words. Each value is taken from where the training itself takes it: data are
// the options that its rows are read by, o those of its steps.
func (c config) effective(name string, d dataset, n network, data example.Options, o train.Options) (json.RawMessage, error) {
	text, err := json.Marshal(c)
	all := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"label_key", "space", "exclude_features", "seed"} { // by another name below, or of no effect
		delete(all, key)
	}
	var features []string
	for _, f := range d.inputs {
		features = append(features, f.Name)
	}
	optimizer, err := optim.Config(o.Optimizer)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, map[string]any{
		"module": module.BuiltinPrefix + name, "label": d.label.Name, "features": features, "task": n.task, "loss": n.model.Loss.Name(),
		"train_steps": o.Steps, "eval_steps": o.EvalSteps, "optimizer_config": optimizer,
		"batch_size": data.BatchSize, "epochs": data.Epochs, "shuffle_buffer": data.ShuffleBuffer,
		"seed": int64(data.Seed), "normalize": d.normalized(c.normalizeConfig),
	})
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return json.Marshal(all)
}

// normalized are the methods by which raw numbers are scaled, by feature; nil if nothing is.
func (d dataset) normalized(c normalizeConfig) any {
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
