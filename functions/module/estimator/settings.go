package estimator

import (
	"fmt"
	"maps"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/train"
)

// settings reports what a training uses. Each value is taken from where the training itself takes it: in are the options that its
// rows are read by, o those of its steps.
func (r runner) settings(spec Spec, p plan, n network, in example.Options, o train.Options) error {
	optimizer, err := optim.Config(o.Optimizer)
	if err != nil {
		return err
	}
	all := map[string]any{
		"estimator": fmt.Sprintf("%T", spec.Estimator), "label": spec.Train.Input.Label, "loss": n.Loss.Name(), "optimizer_config": optimizer,
		"train_steps": o.Steps, "eval_steps": o.EvalSteps, "batch_size": in.BatchSize, "eval_batch_size": spec.Eval.Input.BatchSize,
		"epochs": in.Epochs, "shuffle_buffer": in.ShuffleBuffer, "seed": int64(in.Seed),
	}
	if p.head.classes > 0 {
		all["n_classes"] = p.head.classes
	}
	if p.weight != "" {
		all["weight_column"] = p.weight
	}
	if len(p.deep) > 0 {
		maps.Copy(all, map[string]any{"dnn_hidden_units": p.hiddenUnits, "dnn_activation": p.deepActivation(), "dnn_dropout": p.dropout, "dnn_feature_columns": len(p.deep)})
	}
	if len(p.linear) > 0 {
		all["linear_feature_columns"] = len(p.linear)
	}
	if len(r.args.CustomConfig) > 0 {
		all["custom_config"] = r.args.CustomConfig
	}
	if values, _ := r.args.Hyperparameters["values"].(map[string]any); len(values) > 0 {
		all["hyperparameters"] = values
	}
	return r.args.Settings(all)
}
