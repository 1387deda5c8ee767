// Package serve has the commands that stay running: the local stack, workers, the dispatcher, the bridge, the console and the
// exporters. Read operate first: it serves the probes and metrics of each of them.
package serve

import (
	"github.com/spf13/cobra"

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
