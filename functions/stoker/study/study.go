// Package study has the commands of hyperparameter searches.
package study

import (
	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// Commands returns the commands of the group.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newStudies(a),
	}
}
