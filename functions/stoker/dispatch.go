package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

func newDispatch(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "dispatch",
		Short: "Run a dispatcher: facts in, jobs out",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				dispatcher, err := dispatch.New(ctx, box, app.logger())
				if err != nil {
					return err
				}
				app.sayStarted("dispatch")
				return dispatcher.Run(ctx)
			})
		},
	}
}
