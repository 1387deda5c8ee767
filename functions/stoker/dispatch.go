package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

func newDispatch(app *app) *cobra.Command {
	var listen *string
	cmd := &cobra.Command{
		Use:   "dispatch",
		Short: "Run a dispatcher: facts in, jobs out",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.operate(cmd.Context(), "dispatch", *listen, app.dispatch)
		},
	}
	listen = listenFlag(cmd)
	return cmd
}

func (a *app) dispatch(ctx context.Context, o *operated) error {
	return a.withBox(ctx, func(ctx context.Context, box *jetstream.Letterbox) error {
		dispatcher, err := dispatch.New(ctx, o.Letterbox(box), a.logger())
		if err != nil {
			return err
		}
		dispatcher.Telemetry = o.Telemetry
		a.sayStarted("dispatch")
		return o.while(ctx, asDispatcher(box), dispatcher.Run)
	})
}
