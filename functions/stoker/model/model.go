// Package model has the commands of trained models: list and download them, show their lineage,
// train one again.
package model

import (
	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// Commands returns the commands of the group.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newModels(a),
		newLineage(a),
		newReproduce(a),
	}
}
