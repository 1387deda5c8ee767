package model

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/serve"
)

// lineageFlags are the flags of `stoker lineage`.
type lineageFlags struct {
	opts       lineage.Options
	dot, check bool
}

func newLineage(a *app.App) *cobra.Command {
	var f lineageFlags
	cmd := &cobra.Command{
		Use:     "lineage MODEL",
		GroupID: app.Look,
		Annotations: app.Info{Role: access.Console, Output: app.Object, With: "MODEL",
			Always: "target nodes edges",
		}.Annotations(),
		ValidArgsFunction: a.PipelineOrRunNames,
		Short:             "Show the inputs that made a model, and verify them",
		Long: "Shows the data, schema, transform graph, hyperparameters, module and base model that a model was made from, and in turn\n" +
			"the inputs of its base models and searches. Each digest is compared with the objects that are in the\n" +
			"store now.\n\n" + modelNamesHelp,
		Example: "  stoker lineage penguin/monday\n" +
			"  stoker lineage penguin --dot | dot -Tsvg > penguin.svg\n" +
			"  stoker lineage s3://stoker/penguin/Trainer/model/<execution>/<attempt> -o json --check",
		Args: app.Named("a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.Within("depth", f.opts.Depth, 0, app.AnyCount); err != nil {
				return err
			}
			return a.WithLink(cmd.Context(), func(ctx context.Context, l app.Link) error {
				graph, err := lineage.Of(ctx, l.Bus, l.Store, args[0], &f.opts)
				if err != nil {
					return noModel(ctx, a, l.Bus, args[0], err)
				}
				return printLineage(a, graph, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.opts.Depth, "depth", 0, "how many trainings and searches to follow back; 0: all")
	flags.BoolVar(&f.opts.Trials, "trials", false, "all trials of searches, not only the best")
	flags.BoolVar(&f.opts.Unverified, "unverified", false, "don't compare digests with the store")
	flags.BoolVar(&f.check, "check", false, "exit with status 1 if an input is gone or has changed")
	flags.BoolVar(&f.dot, "dot", false, "print the graph in Graphviz's DOT language")
	cmd.AddCommand(serve.NewLineageExport(a))
	return cmd
}

const modelNamesHelp = "MODEL is PIPELINE/RUN, PIPELINE for its newest model, the model's address, or the digest of the model or of its execution\n" +
	"(8 digits of it or more)."

func printLineage(a *app.App, graph lineage.Graph, f lineageFlags) (err error) {
	switch {
	case f.dot:
		_, err = a.Stdout.Data("dot").Write([]byte(graph.Dot()))
	case a.ForPrograms():
		err = a.Print(graph, nil)
	default:
		_, err = a.Stdout.Write([]byte(graph.Tree(a.CommandOf)))
	}
	if differing := graph.Differing(); err == nil && f.check && len(differing) > 0 {
		return fmt.Errorf("%d of its inputs are gone or have changed", len(differing))
	}
	return err
}
