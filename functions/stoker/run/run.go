// Package run has the commands that show, follow, repeat and cancel runs. Other groups follow their
// runs with it.
package run

import (
	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// Commands returns the commands of the group.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newRuns(a),
		newWorkers(a),
		newLogs(a),
		newWatch(a),
		newCancel(a),
	}
}
