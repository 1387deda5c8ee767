package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/replay"
)

func newDeadRetry(app *app) *cobra.Command {
	return newDeadSettle(app, &cobra.Command{
		Use:   "retry NUMBER...",
		Short: "Handle dead letters again, once what was wrong is mended",
		Long: "A job goes back on the queue as it was; its attempts are counted anew. A fact is handled as if it had just come; if it is\n" +
			"refused again, its letter stays. What a store told of a bucket is told to the bridge again. Letters of what was handled again\n" +
			"are dropped. Neither facts nor what caused a job change.\n\n" + pinnedHelp,
	}, func(ctx context.Context, box events.Letterbox) (settle, error) {
		dispatcher, err := dispatch.New(ctx, box, app.logger())
		if err != nil {
			return settle{}, err
		}
		return settle{"retried", func(line replay.Letter) error {
			app.warnPinned(ctx, box, line)
			return replay.Retry(ctx, box, dispatcher, line.Letter)
		}}, nil
	})
}
