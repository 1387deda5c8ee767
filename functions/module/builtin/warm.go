package builtin

import (
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/module"
)

// warmStart takes weights of the base model, if there is one, into the network. What was taken stands in the log and, as
// warm_start.txt and warm_start.json, in model_run_dir. A base model that can't be read, or of which nothing fits, is bad input.
func (r runner) warmStart(c config, d dataset, n network, a module.Assignment) error {
	if a.BaseModel == "" {
		return nil
	}
	table, err := warmstart.StartFrom(a.BaseModel, warmstart.Network{
		Graph: n.model.Graph, TransformGraph: d.graph, Logits: "logits", Classes: n.classes,
	}, c.WarmStart)
	if err != nil {
		return module.BadInput(fmt.Errorf("base_model: %w", err))
	}
	r.log.Info("warm start", "from", table.From, "params", len(table.Params), "taken", table.Taken(), "left", len(table.Left))
	fmt.Fprint(os.Stderr, table) // the job's log, where a table is a table
	if a.ModelRunDir == "" {
		return nil
	}
	return table.Keep(a.ModelRunDir)
}

// classNames are what the logits stand for, nil for a number; one logit is that of the second of two classes.
func (n network) classNames(graph string) ([]string, error) {
	label := n.feed.Label
	if label.Classes == 0 {
		return nil, nil
	}
	return warmstart.ClassNames(max(label.Classes, 2), label.Vocabulary, label.Feature, graph)
}
