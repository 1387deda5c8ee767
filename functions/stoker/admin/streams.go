package admin

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func newStreams(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "streams",
		GroupID: app.Operate,
		Short:   "Create or update the streams on your own NATS",
		Long: "Your own NATS servers need Stoker's streams before any other command uses them. `stoker up` creates those of the local stack.\n\n" +
			"Their definitions, events/jetstream/streams.yaml, are built into this program.",
	}
	cmd.AddCommand(newStreamsApply(a))
	return cmd
}

func newStreamsApply(a *app.App) *cobra.Command {
	var replicas int
	var classes []string
	cmd := &cobra.Command{
		Use:         "apply",
		Annotations: app.Info{Role: access.Operator}.Annotations(),
		Short:       "Create or update the streams; they keep their contents",
		Long: "Creates or updates the streams, KV buckets and consumers that this version needs, and prints the result.\n" +
			"It is safe to repeat at any time, also concurrently. The NATS user that runs it needs the role operator: see `stoker access`.\n\n" +
			"Use --replicas 3 with a cluster of three servers or more. A scaler that reads the lag of a queue needs its consumer\n" +
			"before the first worker starts: consumers of the classes cpu and gpu are always created, --classes adds others.",
		Example: "  stoker streams apply --replicas 3 --classes a100,tpu",
		Args:    app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(app.Within("replicas", replicas, 0, 5), checkClasses(classes)); err != nil {
				return err
			}
			made, err := makeStreams(cmd.Context(), a, replicas, classes)
			if err != nil {
				return err
			}
			return a.Print(made, func(w io.Writer) { printStreams(w, made) })
		},
	}
	cmd.Flags().IntVar(&replicas, "replicas", 0, "copies of each stream, 1 to 5; 0: keep the current number, 1 for new streams")
	cmd.Flags().StringSliceVar(&classes, "classes", nil, "more resource classes whose consumers to create")
	return cmd
}

func checkClasses(classes []string) error {
	for _, class := range classes {
		if err := events.CheckClass("--classes", class); err != nil {
			return exit.Usage(err)
		}
	}
	return nil
}

func makeStreams(ctx context.Context, a *app.App, replicas int, classes []string) ([]jetstream.Made, error) {
	at, err := a.Target()
	if err != nil {
		return nil, err
	}
	options := at.BusOptions(a.Logger())
	options.Replicas, options.Classes = replicas, classes
	made, err := jetstream.Setup(ctx, at.Bus.URL, options)
	if err != nil {
		return nil, at.Away(err)
	}
	return made, nil
}

func printStreams(w io.Writer, all []jetstream.Made) {
	terminal.Row(w, "KIND", "NAME", "OF", "REPLICAS")
	for _, m := range all {
		replicas := any(m.Replicas)
		if m.Replicas == 0 {
			replicas = "" // a consumer has the replicas of its stream
		}
		terminal.Row(w, m.Kind, m.Name, m.Stream, replicas)
	}
}
