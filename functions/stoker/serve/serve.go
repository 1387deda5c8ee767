// Package serve has the long-running commands: the local stack, workers, the dispatcher, the
// bridge, the console and the exporters. Read operate first: it serves the probes and metrics of
// each of them.
package serve

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// Commands returns the commands of the group.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newUp(a),
		newWorker(a),
		newDispatch(a),
		newBridge(a),
		newConsole(a),
		newNotify(a),
	}
}

func newDispatch(a *app.App) *cobra.Command {
	var listen *string
	cmd := &cobra.Command{
		Use:         "dispatch",
		GroupID:     app.Operate,
		Annotations: app.Info{Role: access.Dispatcher}.Annotations(),
		Short:       "Run a dispatcher",
		Long:        "Joins events to runs and enqueues the jobs of complete runs, until it is interrupted.",
		Example:     "  stoker dispatch --listen :9090",
		Args:        app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operate(cmd.Context(), a, "dispatch", *listen, func(ctx context.Context, o *operated) error { return runDispatch(ctx, a, o) })
		},
	}
	listen = listenFlag(cmd)
	return cmd
}

func runDispatch(ctx context.Context, a *app.App, o *operated) error {
	return a.WithJetStream(ctx, func(ctx context.Context, bus *jetstream.Bus) error {
		dispatcher, err := dispatch.New(ctx, o.Bus(bus), a.Logger())
		if err != nil {
			return err
		}
		dispatcher.Telemetry = o.Telemetry
		a.SayStarted("dispatch")
		return o.while(ctx, asDispatcher(bus), dispatcher.Run)
	})
}
