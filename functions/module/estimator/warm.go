package estimator

import (
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/module"
)

// warmStart takes weights of another model into the network, by variable name, where the run config says so. What was taken
// from where stands in the log and, as warm_start.txt and warm_start.json, in model_run.
func (r runner) warmStart(c RunConfig, n network, graph string) error {
	if c.WarmStartFrom == "" {
		if r.args.BaseModel != "" {
			r.log.Warn("there is a base model, and this module doesn't start from it: its run config has no WarmStartFrom",
				"base_model", r.args.BaseModel)
		}
		return nil
	}
	table, err := warmstart.StartFrom(c.WarmStartFrom, warmstart.Network{
		Graph: n.Graph, TransformGraph: graph, Logits: "logits", Classes: n.classes,
	}, warmstart.Rules{})
	if err != nil {
		return module.BadInput(fmt.Errorf("run config: %w", err))
	}
	r.log.Info("warm start", "from", table.From, "params", len(table.Params), "taken", table.Taken(), "left", len(table.Left))
	fmt.Fprint(os.Stderr, table) // the job's log, where a table is a table
	if r.args.ModelRunDir == "" {
		return nil
	}
	return table.Keep(r.args.ModelRunDir)
}
